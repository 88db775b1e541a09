import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { company, EXECUTIONS, order } from '../approvals/support';
import { createTestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { ROOT } from '../support/documents/markdown';
import { runProgram } from './run-program';

const ENTRANCE = join(ROOT, 'verifier/decision/check.mjs');
/** Modules of which pages have another form, made by `console/build.mjs`. */
const NODE_ONLY = ['primitives.mjs', 'evaluation/zone-data.mjs'].map((name) => join(ROOT, 'verifier', name));

/** Finds the imports of a module and of what it imports; files outside of this folder are not read. */
function importsOf(path: string, imports = new Set<string>()): Set<string> {
  if (imports.has(path)) return imports;
  imports.add(path);
  if (!path.startsWith(ROOT) || NODE_ONLY.includes(path)) return imports;
  for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/\bfrom '([^']+)'/gu))
    importsOf(name.startsWith('.') ? resolve(dirname(path), name) : name, imports);
  return imports;
}

describe('The modules that recompute a decision file', () => {
  it('import nothing but one another, and Node.js where pages have another form', () => {
    const modules = [...importsOf(ENTRANCE)];
    expect(modules).toEqual(expect.arrayContaining(NODE_ONLY));
    expect(modules.filter((path) => !path.startsWith(join(ROOT, 'verifier')))).toEqual([]);
  });

  it('say the same with the primitives of a page', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'page-test-'));
    const app = await createTestApp();
    try {
      await createPolicy(app, { name: 'ä', actions: ['send'] });
      const { bot } = await company(app);
      const { id } = (
        await send(app, 'POST', `/api/v1/agents/${bot.id}/execute`, {
          body: { action: 'send', resourceType: 'mail', ...order() },
        })
      ).body;
      const path = join(folder, 'a.evidence.json');
      writeFileSync(path, (await send(app, 'GET', `${EXECUTIONS}/${id}/evidence`)).text);
      const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
      cpSync(join(ROOT, 'verifier'), join(folder, 'verifier'), { recursive: true });
      cpSync(join(ROOT, 'test/evidence/change-bytes.mjs'), join(folder, 'test/evidence/change-bytes.mjs'));
      renameSync(join(folder, 'verifier/primitives-browser.mjs'), join(folder, 'verifier/primitives.mjs'));
      const program = join(folder, 'test/evidence/change-bytes');
      expect(JSON.parse(await runProgram(program, app.url, path, publicKey, '200', '7'))).toEqual({
        changes: 200,
        unfound: [],
      });
    } finally {
      await app.close();
      rmSync(folder, { recursive: true });
    }
  });
});
