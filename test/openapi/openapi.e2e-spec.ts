import type { OpenAPIObject, OperationObject, SchemaObject } from '@nestjs/swagger';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { exampleBodies, examplePath, operationsOf } from '../support/requests/api-document';
import { readDocument, ROOT } from '../support/documents/markdown';
import { send } from '../support/application/send';
import { run } from '../support/processes/shell';
import { SwaggerSession } from './swagger-session';

const COMMITTED = readDocument('openapi.json');
const document = JSON.parse(COMMITTED) as OpenAPIObject;
const operations = operationsOf(document);

/** The answers of operations that do not answer with JSON. */
const STREAMS: Readonly<Record<string, string>> = {
  provenance_export: 'application/x-ndjson',
  events_follow: 'text/event-stream',
};
/** A gateway looks at the headers of the answer alone. */
const WITHOUT_BODY = 'forwardAuth_ask';

describe('openapi.json', () => {
  it('is what the service serves (`npm run openapi` brings it up to date)', async () => {
    const app = await createTestApp();
    const served = await send(app, 'GET', '/docs/openapi.json', { key: null });
    await app.close();
    expect(`${JSON.stringify(served.body, null, 2)}\n`).toBe(COMMITTED);
    const script = await run(process.execPath, ['scripts/write-openapi.mjs', '--print'], { folder: ROOT });
    expect(script).toMatchObject({ output: COMMITTED, errors: '' });
  });

  it('passes a linter by its recommended rules', async () => {
    const { output, errors } = await run(process.execPath, ['scripts/lint-openapi.mjs'], { folder: ROOT });
    expect(output + errors).toBe('');
  });

  it('has a sentence for every tag, and uses no other', () => {
    const tags = document.tags ?? [];
    expect(tags.filter(({ description = '' }) => !/^[A-Z].*\.$/.test(description))).toEqual([]);
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect([...used].sort()).toEqual(tags.map(({ name }) => name).sort());
  });

  it('explains the ids in its examples', () => {
    const text = document.info.description ?? '';
    const samples = new Set(COMMITTED.match(/\b(?:ent|clm|agt|pol|exe|dec)_0{20}\d{6}\b/g));
    expect([...samples].filter((id) => !text.includes(`| \`${id}\` | `))).toEqual([]);
    const recordNames = operations.flatMap(({ operation }) => exampleNames(operation));
    const quoted = [...text.matchAll(/\| the (?:entity|agent|policy|decision) "([^"]+)" \|/g)].map(([, name]) => name);
    expect(quoted.filter((name) => !recordNames.includes(name ?? ''))).toEqual([]);
  });

  it('shares no unique name with docs/first-five-minutes.md', () => {
    const tour = readDocument('docs/first-five-minutes.md');
    const once = operations
      .filter(({ id }) => ['agents_create', 'policies_create'].includes(id))
      .flatMap(({ operation }) => exampleNames(operation));
    expect(once.filter((name) => tour.includes(`"${name}"`))).toEqual([]);
  });

  it('has nothing that breaks independent generators', () => {
    const schemas = document.components?.schemas ?? {};
    const texts = Object.entries(schemas).map(([name, schema]) => ({ name, text: JSON.stringify(schema) }));
    // A member with a default becomes required, an enum of null does not compile, and `Error` hides the global one.
    expect(texts.filter(({ text }) => /"default":|"enum":\[null\]/.test(text)).map(({ name }) => name)).toEqual([]);
    expect(Object.keys(schemas)).not.toContain('Error');
    // Requests are closed to further members; answers may gain some.
    const closed = texts.filter(({ text }) => text.includes('"additionalProperties":false')).map(({ name }) => name);
    expect(closed.filter((name) => !name.endsWith('Request'))).toEqual([]);
    // An enumeration that also allows null differs from the named one.
    const nameless = texts.filter(
      ({ text }) => /^{.*"enum":\[(?![^\]]*null\])[^\]]*,/.test(text) && !text.startsWith('{"type":"string","enum"'),
    );
    expect(nameless.map(({ name }) => name)).toEqual([]);
  });

  it('says of each optional member of a request that it accepts null', () => {
    const requests = Object.entries(document.components?.schemas ?? {}).filter(([name]) => name.endsWith('Request'));
    const silent = requests.flatMap(([name, schema]) => {
      const { properties = {}, required = [] } = schema as SchemaObject;
      const optional = Object.entries(properties).filter(([member]) => !required.includes(member));
      return optional
        .filter(([, member]) => !JSON.stringify(member).includes('"nullable":true'))
        .map(([member]) => `${name}.${member}`);
    });
    expect(silent).toEqual([]);
  });

  it('has operation ids that say of what and what, and not the same word twice', () => {
    expect(operations.map(({ id }) => id).filter((id) => !/^(\w+)_(?!\1$)\w+$/.test(id))).toEqual([]);
  });

  it('has what reads each record at the `Location` that its creation answers with', () => {
    const created = operations.filter(({ operation }) => '201' in operation.responses);
    const isRead = (path: string): boolean =>
      operations.some((other) => other.method === 'GET' && other.path.replace(/\{[^/]+\}$/, '') === `${path}/`);
    expect(created.length).toBeGreaterThan(8);
    expect(created.filter(({ path }) => !isRead(path)).map(({ id }) => id)).toEqual([]);
  });

  it('describes every parameter', () => {
    const undescribed = operations.flatMap(({ id, operation }) =>
      (operation.parameters ?? []).filter((parameter) => !('description' in parameter)).map(() => id),
    );
    expect(undescribed).toEqual([]);
  });
});

/** Names and titles in the examples of an operation. */
function exampleNames(operation: OperationObject): string[] {
  const documented = { id: '', method: '', path: '', operation };
  return exampleBodies(documented)
    .flatMap((body) => Object.entries(body ?? {}))
    .flatMap(([member, value]) => (['name', 'title'].includes(member) ? [String(value)] : []));
}

describe.each(operations.map((operation) => [operation.id, operation] as const))('%s', (_id, documented) => {
  const { operation, method } = documented;

  it('has one tag, a summary, a description and the schema of its answer', () => {
    expect(operation.tags).toHaveLength(1);
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(operation.description).toMatch(/^[A-Z].*\.$/s);
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    // A change waits for a second person: 202.
    const own = answers.filter(([status]) => status !== '202' || documented.id === 'execute_action');
    expect(own).toHaveLength(
      ['execute_action', 'policies_create', 'stops_create', 'erasures_create'].includes(documented.id) ? 2 : 1,
    );
    const [[status, answer] = ['', undefined]] = own;
    const type = STREAMS[operation.operationId ?? ''] ?? 'application/json';
    if (status !== '204' && documented.id !== WITHOUT_BODY) expect(answer).toHaveProperty(['content', type, 'schema']);
  });

  it('has an example of its body and of every parameter of its path', () => {
    expect(examplePath(documented)).not.toMatch(/[{}]|undefined/);
    const takesBody = operation.requestBody !== undefined;
    expect(takesBody ? exampleBodies(documented)[0] : {}).toBeDefined();
    if (method === 'GET' || method === 'DELETE') expect(takesBody).toBe(false);
  });
});

function isConditional({ operation }: { readonly operation: OperationObject }): boolean {
  return /\bRequires /.test(operation.description ?? '');
}

/** The operations in the order of the page: by their tags, in the order of these, then in the order of the document. */
const onPage = (document.tags ?? []).flatMap(({ name }) =>
  operations.filter(({ operation }) => operation.tags?.[0] === name),
);

/** Operations that only a gateway, or the device or key of a person, can send, or that need a change that waits. */
const BY_OTHERS = [
  ...['passkeys_options', 'passkeys_register', 'passkeys_get', 'passkeys_remove'],
  ...['access_review', 'forwardAuth_ask', 'delegations_create', 'delegations_get', 'delegations_end'],
  ...['decisions_change', 'decisionFiles_getOfChange'],
];

describe.each([
  ['as it is started first', {}, operations.filter(isConditional).map(({ id }) => id)],
  [
    'with the settings that some need',
    { PUBLIC_URL: 'https://governance.example.com', PERMIT_AUDIENCES: 'bank', RETAIN_AT_LEAST: 'PT0S' },
    BY_OTHERS,
  ],
])('The examples, executed from the top of the page to its end, on a service %s', (_name, environment, excused) => {
  let app: TestApp;
  let session: SwaggerSession;

  beforeAll(async () => {
    app = await createTestApp({ environment });
    session = new SwaggerSession((await send(app, 'GET', '/docs/start.js', { key: null })).text);
  });
  afterAll(() => app.close());

  const steps = onPage.flatMap((documented) =>
    exampleBodies(documented).map((body, index) => ({ documented, body, name: `${documented.id} ${index + 1}` })),
  );

  it.each(steps)('$name succeeds, or its description says what it needs', async ({ documented, body }) => {
    const path = session.sent(examplePath(documented));
    const answer = await send(app, documented.method, path, body === undefined ? {} : { body: session.sentBody(body) });
    session.receive(app.url + path, answer.status, answer.body);
    if (answer.body?.error !== undefined && excused.includes(documented.id)) {
      expect(isConditional(documented)).toBe(true);
      return;
    }
    expect(answer.body?.error).toBeUndefined();
    const expected = Object.keys(documented.operation.responses).filter((status) => status.startsWith('2'));
    expect(expected).toContain(String(answer.status));
  });

  it('count a record once even if it is returned again, like an execution that is requested twice', () => {
    const [first, next] = ['A', 'B'].map((end) => ({
      id: `exe_${end.repeat(26)}`,
      decisionId: `dec_${end.repeat(26)}`,
    }));
    for (const body of [first, first, next]) session.receive('/agents/reminder-bot/execute', 202, body);
    const samples = Array.from({ length: 9 }, (_, index) => `exe_0000000000000000000000000${index + 1}`);
    const executions = samples.map((sample) => session.sent(sample)).filter((id) => /A{26}|B{26}/.test(id));
    expect(executions).toEqual([first?.id, next?.id]);
  });

  it('leave ids of other kinds and of records not yet created unchanged', () => {
    expect(session.sent('/ent_00000000000000000000000099')).toBe('/ent_00000000000000000000000099');
    expect(session.sent('/xyz_00000000000000000000000001')).toBe('/xyz_00000000000000000000000001');
  });
});
