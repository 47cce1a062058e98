"""`fusioninfer eject`: plain manifests of a service, and the steps in which one leaves without a restart."""
