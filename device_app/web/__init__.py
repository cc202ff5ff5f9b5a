"""The app in a browser: access control (`door`), and the server that starts one app for each page (`server`)."""
