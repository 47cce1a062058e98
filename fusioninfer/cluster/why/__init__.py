"""`fusioninfer why`: what keeps a service from serving, the dominant cause first (`causes`)."""
