"""Shadow: a candidate that answers beside the primary, unseen, and what their answers say."""

from assay.rollout.shadow.async_service import AsyncShadow
from assay.rollout.shadow.limits import ShadowLimits
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.service import Shadow

__all__ = ["AsyncShadow", "Shadow", "ShadowLimits", "ShadowLog"]
