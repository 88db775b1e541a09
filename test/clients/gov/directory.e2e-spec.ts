import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import type { ProgramRun } from '../../support/processes/shell';
import { DirectoryClient } from '../../directory/directory-client';
import { buildCommandLine, gov as runGov } from '../command-line';

describeOnSqlite('gov directory groups', () => {
  let app: TestApp;
  let folder: string;
  let ids: string[];

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { DIRECTORY_ROLES: '{"id of Finance":["finance","reviewer"]}' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-directory-'));
    const directory = new DirectoryClient(app, (await issueKey(app, { scopes: ['directory'] })).secret);
    const ann = await directory.addUser('ann');
    ids = [
      await directory.addGroup('Finance', [ann]),
      await directory.addGroup('Sales \u202e', [], { externalId: undefined }),
    ];
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  const gov = (words: readonly string[], key = API_KEY): Promise<ProgramRun> => {
    const environment = { XDG_CONFIG_HOME: folder, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: key };
    return runGov(['directory', 'groups', ...words], { environment, folder });
  };

  it('shows the ids that DIRECTORY_ROLES maps, the members and their roles', async () => {
    const { output, exitCode } = await gov([]);
    expect(exitCode).toBe(0);
    expect(output.replace(/ +/g, ' ')).toBe(
      'GROUP EXTERNAL ID ID MEMBERS ROLES\n' +
        `Finance id of Finance ${ids[0]} 1 finance, reviewer\n` +
        `Sales \\u202e – ${ids[1]} 0 –\n`,
    );
    expect(JSON.parse((await gov(['--json'])).output)).toMatchObject({
      total: 2,
      data: [{ id: ids[0] }, { id: ids[1] }],
    });
  });

  it('needs the scope admin', async () => {
    const { secret } = await issueKey(app, { scopes: ['read'] });
    expect((await gov([], secret)).exitCode).toBe(1);
  });
});
