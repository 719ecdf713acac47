"""What of a cluster could not be asked, and is not known to be good or bad."""

from k8s_watch.answers import Failed
from translator.advice.checks import REMARK, Check

NOT_ASKED = Check(
    "not-asked",
    REMARK,
    "something of the cluster that could not be asked, so that nothing is said of it",
    "be allowed to read CustomResourceDefinitions, Deployments and XBackendTrafficPolicies, and to create "
    "SubjectAccessReviews",
)


class UnaskedError(Exception):
    """A question to an API server came to nothing."""

    def __init__(self, failed: Failed, what: str) -> None:
        """Say what was asked, and why there was no answer."""
        super().__init__(f"{what}: {failed.reason}")
