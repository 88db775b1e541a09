import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnSqlite } from '../support/database/database-kind';
import { readDocument, ROOT } from '../support/documents/markdown';
import { parseYamlFile } from '../support/documents/yaml';
import { run } from '../support/processes/shell';

const FOLDER = '.github/workflows';

/** The parser imports JSON without the attribute that Node.js asks for, so a hook adds it. */
const JSON_HOOK = `export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  return specifier.endsWith('.json') ? { ...resolved, importAttributes: { type: 'json' } } : resolved;
}`;

/** GitHub's own parser checks a workflow against its schema, and the expressions in it. */
const CHECK = `import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(JSON_HOOK)}));
  const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser');
  const name = process.argv[1];
  let content = '';
  for await (const chunk of process.stdin) content += chunk;
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  if (value !== undefined) await convertWorkflowTemplate(context, value);
  console.log(JSON.stringify(context.errors.getErrors().map(({ message }) => message)));`;

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

async function workflowFaults(name: string, content: string): Promise<string[]> {
  const { output, errors } = await run(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', CHECK, name],
    {
      folder: ROOT,
      input: content,
    },
  );
  if (errors !== '') throw new Error(errors);
  return JSON.parse(output) as string[];
}

// Independent of the database, so once is enough.
describeOnSqlite('The workflows', () => {
  const files = readdirSync(join(ROOT, FOLDER));

  it('are one for each change and one for each release', () => {
    expect(files.sort()).toEqual(['ci.yml', 'release.yml']);
  });

  it.each(files)('%s is valid, and a misspelt member of it would be found', async (file) => {
    const content = readDocument(`${FOLDER}/${file}`);
    expect(await workflowFaults(file, content)).toEqual([]);
    expect(await workflowFaults(file, content.replace('runs-on', 'run-on'))).not.toEqual([]);
  });

  it.each(files)('%s pins the actions of others by hash, and says which version that is', (file) => {
    const uses = [...readDocument(`${FOLDER}/${file}`).matchAll(/uses: (.+)$/gm)].map(([, action = '']) => action);
    expect(uses.length).toBeGreaterThan(0);
    const loose = uses.filter((action) => !/^\.\/|^[\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action));
    expect(loose).toEqual([]);
  });

  it.each(files)('%s has no right by itself, and each job only those that it needs', async (file) => {
    const { permissions, jobs } = await parseYamlFile<Workflow>(`${FOLDER}/${file}`);
    const rights = [permissions, ...Object.values(jobs).map((job) => job.permissions ?? {})].flatMap(Object.entries);
    for (const right of rights) expect(['contents:read', 'id-token:write']).toContain(right.join(':'));
  });

  it.each(files)('%s runs scripts that exist', async (file) => {
    const { jobs } = await parseYamlFile<Workflow>(`${FOLDER}/${file}`);
    const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap((step) => step.run ?? []));
    const scripts = commands.flatMap((command) => command.match(/scripts\/[\w-]+\.mjs|\.ci\/run|clients\/\w+/g) ?? []);
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((script) => !existsSync(join(ROOT, script)))).toEqual([]);
  });

  it('refuses a tag that is not the version of every package', async () => {
    const { version } = JSON.parse(readDocument('package.json')) as { version: string };
    const check = (tag: string): ReturnType<typeof run> =>
      run(process.execPath, ['scripts/check-release.mjs', tag], { folder: ROOT });
    expect(await check(`v${version}`)).toMatchObject({ exitCode: 0, errors: '' });
    const wrong = await check('v9.9.9');
    expect(wrong.exitCode).toBe(1);
    for (const file of ['package.json', 'clients/cli/package.json', 'clients/python/pyproject.toml'])
      expect(wrong.errors).toContain(`${file} has the version ${version}, and the tag is v9.9.9.`);
    expect(wrong.errors).toContain('CHANGELOG.md has no section 9.9.9.');
  });
});
