import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCHEMA_VERSION } from '../../../src/ledger/schema/schema-version';
import { codeBlocks, readDocument, ROOT, section } from '../../support/documents/markdown';
import { run, runBlocks } from '../../support/processes/shell';
import { differences, shownAnswers } from '../../support/application/shown-answers';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';

const PAGE = readDocument('docs/extending.md');
const TRY_IT = section(PAGE, '## 8. Try it');
const MODULE = 'examples/incidents';
const SOURCE = /^\/\/ src\/incidents\/(\S+)\n/;

/** A copy of the service's sources that contains the module of the example. */
function writeExtendedService(folder: string): void {
  for (const name of ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  cpSync(join(ROOT, MODULE), join(folder, 'src', 'incidents'), { recursive: true });
  const map = join(folder, 'src', 'app.module.ts');
  writeFileSync(map, patched(readFileSync(map, 'utf8')));
}

/** Applies a diff of the page to a text: adds its lines before or after the existing line. */
function patched(text: string): string {
  const diff = codeBlocks(PAGE).find(({ language }) => language === 'diff')?.code ?? '';
  const diffLines = diff.trimEnd().split('\n');
  const existing = diffLines.flatMap((line) => (line.startsWith(' ') ? [line.slice(1)] : [])).join('\n');
  expect(text).toContain(existing);
  return text.replace(existing, diffLines.map((line) => line.slice(1)).join('\n'));
}

describe('The module of docs/extending.md', () => {
  let folder: string;
  let service: StartedProgram;
  let printed: Record<string, unknown>[];
  let scoped: Record<string, unknown>[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'extending-'));
    writeExtendedService(folder);
    const { output } = await run(process.execPath, [join('scripts', 'build.mjs')], { folder });
    expect(output).toBe('');
    service = await startProgram(join(folder, 'dist', 'main.js'), { RATE_LIMIT: '1000' });
    [printed = [], scoped = []] = await tryItOut(service);
  });

  afterAll(async () => {
    // Not started if the module did not compile.
    await (service as StartedProgram | undefined)?.stop();
    rmSync(folder, { recursive: true });
  });

  it('reports an incident, which an agent closes through an action handler', () => {
    const [, , execution, incident] = printed;
    expect(execution).toMatchObject({ outcome: 'executed', failureReason: null });
    expect(incident).toMatchObject({ id: expect.stringMatching(/^inc_/), severity: 'major' });
    expect(execution?.['result']).toEqual({ closedAt: incident?.['closedAt'] });
  });

  it('has its history in the audit trail, sealed into the chain', () => {
    const [, , , , history, verification] = printed;
    const actions = (history?.['data'] as { action: string }[] | undefined)?.map(({ action }) => action);
    expect(actions).toEqual(['incident.reported', 'incident.closed']);
    expect(verification).toMatchObject({ valid: true, entriesVerified: 6 });
  });

  it('admits callers with the scopes of its routes, as shown', () => {
    const expectedAnswers = shownAnswers(codeBlocks(TRY_IT).find(({ language }) => language === 'json')?.code ?? '');
    expect(scoped).toHaveLength(expectedAnswers.length);
    expect(scoped.flatMap((answer, index) => differences(answer, expectedAnswers[index]))).toEqual([]);
  });

  it('brings a migration to which SCHEMA_VERSION can be raised', () => {
    const migration = readDocument(join(MODULE, 'incidents-schema.migration.ts'));
    expect(Number(/IncidentsSchema(\d{13})/.exec(migration)?.[1])).toBeGreaterThan(SCHEMA_VERSION);
  });

  it('is shown on the page as it is in its files', () => {
    const sources = codeBlocks(PAGE).flatMap(({ code }) => {
      const name = SOURCE.exec(code)?.[1];
      return name === undefined ? [] : [{ name, code: code.replace(SOURCE, '') }];
    });
    expect(sources.map(({ name }) => name)).toContain('incident.kind.ts');
    for (const { name, code } of sources) expect(code).toBe(readDocument(join(MODULE, name)));
    const excerpt = codeBlocks(PAGE).find(({ code }) => code.startsWith('  close('))?.code;
    expect(readDocument(join(MODULE, 'incidents.service.ts'))).toContain(excerpt);
  });

  it('passes through the pipeline like any other: key, strict parameters, validation, errors, Location', async () => {
    expect(await service.send('GET', '/api/v1/incidents', { key: null })).toMatchObject({ status: 401 });
    expect(await service.send('GET', '/api/v1/incidents?severty=major')).toMatchObject({ status: 400 });
    const refused = await service.send('POST', '/api/v1/incidents', {
      body: { reference: 'X', title: ' ', severity: 'huge' },
    });
    expect(refused.body.error.details.map(({ field }: { field: string }) => field)).toEqual(['title', 'severity']);
    expect(await service.send('GET', '/api/v1/incidents/inc_0')).toMatchObject({ status: 404 });
    const created = await service.send('POST', '/api/v1/incidents', {
      body: { reference: 'INC-2', title: 'Late', severity: 'minor' },
    });
    expect(created.headers.get('location')).toBe(`/api/v1/incidents/${created.body.id}`);
    const listed = await service.send('GET', '/api/v1/incidents?severity=minor');
    expect(listed.body).toEqual({ data: [created.body], total: 1 });
  });

  it('has deployments refused while a major incident is open', async () => {
    const post = async (path: string, body: object) => service.send('POST', `/api/v1/${path}`, { body });
    await post('agents', { name: 'deployer', capabilities: ['deploy'] });
    const rule = { subjects: ['agent:deployer'], actions: ['deploy'], resources: ['*'] };
    await post('policies', { name: 'deploy', version: '1', effect: 'allow', ...rule });
    const deploy = async () => {
      const answer = await post('agents/deployer/execute', {
        action: 'deploy',
        resourceType: 'app',
        resourceId: 'shop',
      });
      return answer.status === 200 ? null : answer.body.error.message;
    };
    const { body: reported } = await service.send('GET', '/api/v1/incidents');
    for (const { id } of reported.data) await post(`incidents/${id}/close`, {});
    expect(await deploy()).toBeNull();
    const { body } = await post('incidents', { reference: 'INC-9', title: 'Down', severity: 'major' });
    expect(await deploy()).toContain('The incident INC-9 is open.');
    await post(`incidents/${body.id}/close`, {});
    expect(await deploy()).toBeNull();
    expect((await post('provenance/verify', { state: true })).body).toMatchObject({ valid: true });
  });

  it('is in the OpenAPI document, with a name for its choice', async () => {
    const { body } = await service.send('GET', '/docs/openapi.json');
    expect(body.components.schemas).toHaveProperty('IncidentSeverity');
    expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/api/v1/incidents', '/api/v1/incidents/{id}']));
  });
});

/**
 * Runs the commands of the page's last section with the helpers of docs/first-five-minutes.md, and returns the output
 * of each block.
 */
async function tryItOut(service: StartedProgram): Promise<Record<string, unknown>[][]> {
  const helpers = codeBlocks(readDocument('docs/first-five-minutes.md'))[1]?.code ?? '';
  const [commands = '', withScopes = ''] = codeBlocks(TRY_IT).flatMap(({ language, code }) =>
    language === 'sh' ? [code] : [],
  );
  const settings = `export API_KEY=${service.key} API=${service.url}/api/v1\n`;
  const outputs = await runBlocks([helpers + settings + commands, withScopes]);
  return outputs.map((output) =>
    output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
}
