import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../bench/support/free-port';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { buildCommandLine, MAIN } from '../command-line';
import { vendorPackages } from './vendor-packages';

const DECISION = /dec_\w+/g;

describeOnSqlite('The first call in docs/gateway.md', () => {
  const text = section(readDocument('docs/gateway.md'), '## The first call');
  const blocks = codeBlocks(text);
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
    folder = mkdtempSync(join(tmpdir(), 'first-call-'));
    symlinkSync(join(await vendorPackages(), 'node_modules'), join(folder, 'node_modules'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it("stops a vendor's SDK, and lets it through once it is approved", async () => {
    const ports = { 8088: String(await freePort()), 8090: String(await freePort()) };
    const adapted = (code: string): string =>
      Object.entries(ports)
        .reduce((changed, [port, own]) => changed.replaceAll(port, own), code)
        .replace('http://localhost:3000', app.url)
        // The clone's own gov, and the packages that are installed already.
        .replace(/^gov\(\) .*$/m, `gov() { '${process.execPath}' '${MAIN}' "$@"; }`)
        .replace(/^npm install .*$/m, '');
    for (const { code } of blocks) {
      const [, name] = /^(?:\/\/|#) (\S+)\n/.exec(code) ?? [];
      if (name !== undefined) writeFileSync(join(folder, name), adapted(code));
    }
    const [first = '', second = ''] = blocks.flatMap(({ language, code }) => (language === 'bash' ? [code] : []));
    const script = [
      'set -eum',
      "trap 'kill %1 %2 || true' EXIT",
      'exec 3>&1 >/dev/null',
      adapted(first),
      'node writer.mjs >&3',
      adapted(second).replace('node writer.mjs', 'node writer.mjs >&3'),
    ].join('\n');
    const { output } = await run('bash', ['-c', script], { folder, environment: { API_KEY } });
    const printed = blocks.find(({ language }) => language === '')?.code ?? '';
    const approved = /`(This is small\.)` and `(This is large\.)`/.exec(text)?.slice(1) ?? [];
    expect(output.replaceAll(DECISION, 'dec_…')).toBe(`${printed}${approved.join('\n')}\n`);
  });
});
