"""The delivery endpoints: the requests that they admit, and the answers that are made and kept."""
