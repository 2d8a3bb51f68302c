"""Studies of trials beyond their mean recall: which queries fail, how badly and why."""
