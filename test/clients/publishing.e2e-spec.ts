import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

const PACKAGES = ['.', 'clients/typescript', 'clients/frameworks', 'clients/cli'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly main?: string;
  readonly types?: string;
  readonly bin?: Readonly<Record<string, string>>;
}

interface Published {
  readonly id: string;
  readonly files: readonly { readonly path: string }[];
}

/** Tries a release without a registry: each package is built and packed, and everything but sent. */
describeOnSqlite('What a release publishes', () => {
  it.each(PACKAGES)('%s would be published by npm, with the files that its manifest names', async (path) => {
    const folder = join(ROOT, path);
    // Tests of the service run on what is built already; a package of a client is built by its own script.
    const scripts = path === '.' ? ['--ignore-scripts'] : [];
    const { exitCode, output } = await run(
      'npm',
      ['publish', '--dry-run', '--json', '--provenance=false', ...scripts],
      { folder },
    );
    expect(exitCode).toBe(0);
    const { id, files } = published(
      JSON.parse(output.slice(output.indexOf('{'))) as Published | Record<string, Published>,
    );
    const { name, version, main, types, bin } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Manifest;
    expect(id).toBe(`${name}@${version}`);
    const entries = [main, types, ...Object.values(bin ?? {})].flatMap((entry) => entry?.replace(/^\.\//, '') ?? []);
    expect(files.map((file) => file.path)).toEqual(expect.arrayContaining(entries));
  });
});

/** npm 11 names the package beside what it says of it. */
function published(report: Published | Record<string, Published>): Published {
  const [only] = Object.values(report);
  return 'files' in report ? (report as Published) : (only as Published);
}
