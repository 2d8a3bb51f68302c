"""What trials show beyond their mean recall: who fails, how badly, and what to choose."""
