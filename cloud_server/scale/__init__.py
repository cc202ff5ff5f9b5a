"""More than one machine: replicas of the service in Ray, and the index in a Milvus."""
