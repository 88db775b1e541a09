import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { readDocument } from '../../support/documents/markdown';
import { buildCommandLine, gov } from '../command-line';

/** The relevant members of the description of the interface. */
interface Described {
  readonly paths: Readonly<Record<string, { readonly get?: { readonly parameters?: readonly Parameter[] } }>>;
}
interface Parameter {
  readonly in: string;
  readonly schema: { readonly example?: string };
}

/** An id of each kind of record that is read by it alone. */
function describedIds(): string[] {
  const { paths } = JSON.parse(readDocument('openapi.json')) as Described;
  const ofRecords = Object.entries(paths).filter(([path]) => /^\/api\/v1\/[\w-]+\/\{id\}$/.test(path));
  const parameters = ofRecords.flatMap(([, { get }]) => get?.parameters ?? []);
  return parameters.flatMap((one) => (one.in === 'path' ? (one.schema.example ?? []) : []));
}

describeOnSqlite('gov show', () => {
  let app: TestApp;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it.each(describedIds().filter((id) => /^[a-z]{3}_/.test(id)))('looks for a record such as %s', async (id) => {
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: API_KEY };
    const { errors } = await gov(['show', id], { environment });
    expect(errors).toContain('was not found.');
  });
});
