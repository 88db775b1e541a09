/** Consistent examples for the API document. */
export const EXAMPLE_HASH = 'b159bfa47f8eecc4f4b4fbc92c5f6eee13a68132f4f74e68af6bcc1aa45ce503';
export const EXAMPLE_PUBLIC_KEY = 'agent-governance-service+7766190d+AUvq3isjNDC5cYuqzs8P4FHLIqILbXmlqfxa2HOI4vc8';
export const EXAMPLE_NOTE =
  'agent-governance-service\n1\nsVm/pH+O7MT0tPvJLF9u7hOmgTL0905or2vMGqRc5QM=\n\n— agent-governance-service d2YZDch/UEZ1NdYSp9tq5kju8tV126atfx/ZA5IwbuGLCfwVxsmzXdJ3TfVtwQk71JTnFLuF2TdU0OXreKubGyj0eAo=\n';
