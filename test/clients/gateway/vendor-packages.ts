import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/processes/shell';

const FOLDER = join(__dirname, 'packages');

/** Returns the folder of the vendors' SDKs, which are installed on demand: nothing else needs them. */
export async function vendorPackages(): Promise<string> {
  if (!existsSync(join(FOLDER, 'node_modules'))) {
    const { exitCode, errors } = await run('npm', ['ci', '--no-audit', '--no-fund'], { folder: FOLDER });
    if (exitCode !== 0) throw new Error(errors);
  }
  return FOLDER;
}
