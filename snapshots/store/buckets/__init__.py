"""Object stores: the URL of a bucket → its objects, and what is to be known of the services that keep them."""
