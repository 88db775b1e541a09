import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp } from '../../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { stageOf } from '../../support/application/stage';
import { describeOnSqlite } from '../../support/database/database-kind';
import { moveTime, restoreTime } from '../../support/database/moved-time';
import { codeBlocks, readDocument, section } from '../../support/documents/markdown';
import { buildCommandLine, gov } from '../command-line';

const DAY = 86_400_000;
const WEDNESDAY = 3;
const SUNDAY = 0;
const [ALLOWED, WAITING, DENIED] = [200, 202, 403];

/** Milliseconds until it is noon in UTC on this day of the week. */
function untilNoon(day: number): number {
  const now = new Date();
  const noon = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), 12);
  return noon - now.getTime() + ((day - now.getUTCDay() + 7) % 7) * DAY + 7 * DAY;
}

describeOnSqlite('A policy that teams copy', () => {
  const files = codeBlocks(section(readDocument('docs/policies.md'), '## Policies that teams copy first'));
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const capabilities = ['pay', 'look-up', 'refund', 'restart', 'fetch-page', 'send-mail'];
    await createAgent(app, { name: 'bot', roles: ['buyer', 'support', 'operations'], capabilities });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createPolicy(app, { name: 'others', actions: ['look-up', 'fetch-*', 'send-*'] });
    return { app };
  });
  afterEach(() => restoreTime());

  async function execute(action: string, resourceId: string, more: object = {}): Promise<number> {
    const body = { action, resourceType: 'thing', resourceId, ...more };
    return (await send(stage.app, 'POST', '/api/v1/agents/bot/execute', { body })).status;
  }

  it('is one of six, and passes its tests before it is applied', async () => {
    await buildCommandLine();
    expect(files.map(({ language }) => language)).toEqual(Array.from({ length: 6 }, () => 'yaml'));
    const folder = mkdtempSync(join(tmpdir(), 'copied-'));
    const environment = { GOVERNANCE_URL: stage.app.url, GOVERNANCE_API_KEY: API_KEY, XDG_CONFIG_HOME: folder };
    const ran = async (command: string, ...words: string[]): Promise<unknown> =>
      gov(['policies', command, 'set', ...words], { environment, folder });
    mkdirSync(join(folder, 'set'));
    files.forEach(({ code }, index) => writeFileSync(join(folder, 'set', `${index}.yaml`), code));
    expect(await ran('lint')).toMatchObject({ exitCode: 0, errors: '' });
    expect(await ran('test')).toMatchObject({ exitCode: 0, errors: '' });
    expect(await ran('apply', '--yes')).toMatchObject({ exitCode: 0 });
    rmSync(folder, { recursive: true });
  });

  it('spends up to 1,000 a day alone', async () => {
    const spend = (amount: number): Promise<number> => execute('pay', 'invoices/7', { parameters: { amount } });
    expect([await spend(600), await spend(400), await spend(0.01), await spend(5_000)]).toEqual([
      ...[ALLOWED, ALLOWED, WAITING, WAITING],
    ]);
  });

  it('pays a supplier alone once the account is known', async () => {
    const { id } = await createEntity(stage.app);
    const pay = (iban: string): Promise<number> => execute('pay', `suppliers/${id}`, { parameters: { iban } });
    expect(await pay('DE02')).toBe(WAITING);
    await addClaim(stage.app, id, { predicate: 'iban', value: 'DE02', context: { confidence: 0.95 } });
    expect([await pay('DE02'), await pay('DE03')]).toEqual([ALLOWED, WAITING]);
  });

  it('pays only into an account that a claim names and none contradicts', async () => {
    const { id } = await createEntity(stage.app);
    const pay = (iban: string | undefined, account = id): Promise<number> =>
      execute('pay', `accounts/${account}`, { parameters: { iban } });
    expect(await pay('DE02')).toBe(DENIED);
    await addClaim(stage.app, id, { predicate: 'iban', value: 'DE02', context: { confidence: 0.5 } });
    expect([await pay('DE02'), await pay('DE03')]).toEqual([ALLOWED, DENIED]);
    expect([await pay(undefined), await pay('DE02', '7'), await pay('DE02', `${id}x`)]).toEqual([
      ...[DENIED, DENIED, DENIED],
    ]);
    await addClaim(stage.app, id, { predicate: 'iban', value: 'DE03', context: { confidence: 0.5 } });
    expect([await pay('DE02'), await pay('DE03')]).toEqual([DENIED, DENIED]);
  });

  it('refunds after a look-up', async () => {
    expect(await execute('refund', 'orders/7', { run: 'a' })).toBe(DENIED);
    expect(await execute('look-up', 'orders/7', { run: 'a' })).toBe(ALLOWED);
    expect(await execute('refund', 'orders/7', { run: 'a' })).toBe(ALLOWED);
    expect(await execute('refund', 'orders/8', { run: 'a' })).toBe(DENIED);
  });

  it('restarts in office hours only', async () => {
    await moveTime(untilNoon(WEDNESDAY));
    expect(await execute('restart', 'services/web')).toBe(ALLOWED);
    await moveTime(untilNoon(SUNDAY) + 7 * DAY);
    expect(await execute('restart', 'services/web')).toBe(DENIED);
  });

  it('lets nothing leave after reading from outside', async () => {
    expect(await execute('send-mail', 'mails/1', { run: 'b' })).toBe(ALLOWED);
    expect(await execute('fetch-page', 'pages/1', { run: 'b' })).toBe(ALLOWED);
    expect(await execute('send-mail', 'mails/2', { run: 'b' })).toBe(DENIED);
    // Another run, or none, does not evade it.
    expect(await execute('send-mail', 'mails/2', { run: 'c' })).toBe(DENIED);
    expect(await execute('send-mail', 'mails/3')).toBe(DENIED);
    await moveTime(untilNoon(SUNDAY) + 7 * DAY + DAY / 4);
    expect(await execute('send-mail', 'mails/4', { run: 'b' })).toBe(ALLOWED);
  });
});
