"""Serving on several machines: replicas of the service in Ray, and the index in Milvus."""
