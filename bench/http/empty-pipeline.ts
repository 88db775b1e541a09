import { Configuration } from '../../src/core/config/configuration';
import { createEmptyPipeline } from './create-empty-pipeline';

/** Serves the empty pipeline as the service itself is served. */
async function main(): Promise<void> {
  const application = await createEmptyPipeline();
  const { port, host } = application.get(Configuration);
  await application.listen(port, host);
}

void main();
