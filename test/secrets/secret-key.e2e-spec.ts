import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createTestApp } from '../support/application/create-test-app';
import { createPolicy } from '../support/application/factories';
import { itOnSqlite, onPostgres } from '../support/database/database-kind';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { configurationFaults } from '../support/application/configuration-faults';
import { ConfigurationError } from '../../src/core/config/read-configuration';
import { ask, company } from '../approvals/support';

const [FIRST, SECOND] = [keyOf(1), keyOf(2)];

function keyOf(byte: number): string {
  return Buffer.alloc(32, byte).toString('base64');
}

describe('The key of secrets', () => {
  let database: TemporaryDatabase;

  beforeEach(async () => {
    database = await temporaryDatabase();
  });
  afterEach(() => database.remove());

  const startAndStop = async (environment: Readonly<Record<string, string>> = {}): Promise<void> => {
    await (await createTestApp({ environment: { ...database.environment, ...environment } })).close();
  };
  const refusal = async (environment: Readonly<Record<string, string>>): Promise<string> => {
    const error = await startAndStop(environment).then(
      () => 'it started',
      (reason: unknown) => reason,
    );
    // Its exit code is 78.
    expect(error).toBeInstanceOf(ConfigurationError);
    return String((error as ConfigurationError).faults);
  };

  it('has to be the one of before, unless another one is accepted by its name', async () => {
    await startAndStop({ SECRET_KEY: FIRST });
    await startAndStop({ SECRET_KEY: FIRST });
    const other = { SECRET_KEY: SECOND };
    const [, name = ''] = /ACCEPT_SECRET_KEY=([0-9a-f]{16}) /.exec(await refusal(other)) ?? [];
    expect(await refusal({ ...other, ACCEPT_SECRET_KEY: '0123456789abcdef' })).toContain(`ACCEPT_SECRET_KEY=${name}`);
    await startAndStop({ ...other, ACCEPT_SECRET_KEY: name });
    await startAndStop(other);
    expect(await refusal({ SECRET_KEY: FIRST })).toContain('put that key back');
    expect(name).toHaveLength(16);
  });

  it('changes what stands for secrets', async () => {
    const replaced = async (environment: Readonly<Record<string, string>>): Promise<unknown> => {
      const app = await createTestApp({ environment: { ...database.environment, ...environment } });
      const agents = await company(app, environment['SECRET_KEY'] === FIRST ? '' : '-2');
      await createPolicy(app);
      const { body } = await ask(app, agents.bot, { parameters: { token: 'the same' } });
      await app.close();
      return body.parameters;
    };
    const first = await replaced({ SECRET_KEY: FIRST });
    const [, name = ''] = /ACCEPT_SECRET_KEY=([0-9a-f]{16})/.exec(await refusal({ SECRET_KEY: SECOND })) ?? [];
    expect(await replaced({ SECRET_KEY: SECOND, ACCEPT_SECRET_KEY: name })).not.toEqual(first);
  });

  itOnSqlite('is made next to a file, for its owner alone, and never shown', async () => {
    await startAndStop();
    const file = `${database.path}.secret-key`;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, 'utf8');
    expect(Buffer.from(key.trim(), 'base64')).toHaveLength(32);
    await startAndStop();
    expect(readFileSync(file, 'utf8')).toBe(key);
    rmSync(file);
    const refused = await refusal({});
    expect(refused).toContain(`the key in ${file}`);
    for (const text of [key.trim(), readFileSync(file, 'utf8').trim()]) expect(refused).not.toContain(text);
    writeFileSync(file, key);
    await startAndStop();
  });

  it('has to be set on PostgreSQL', () => {
    const environment = { DATABASE_URL: onPostgres ? database.environment.DATABASE_URL : 'postgres://u@h/d' };
    expect(configurationFaults(environment)).toEqual([expect.stringMatching(/^SECRET_KEY: got nothing, although /)]);
  });
});
