import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { ROOT } from '../support/documents/markdown';

const DAY = 86_400_000;
const WEDNESDAY = 3;
const SUNDAY = 0;

/** The policies of the document's section, by their names. */
function copied(): ReadonlyMap<string, Parsed> {
  const [, section = ''] = readFileSync(join(ROOT, 'docs', 'policies.md'), 'utf8').split(
    '## Policies that teams copy first',
  );
  const [own = ''] = section.split('\n## ');
  const policies = [...own.matchAll(/```json\n(.*?)```/gs)].map(([, text = '']): Parsed => JSON.parse(text));
  return new Map(policies.map((policy) => [policy.name, policy]));
}

/** Milliseconds until it is noon in UTC on this day of the week. */
function untilNoon(day: number): number {
  const now = new Date();
  const noon = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate(), 12);
  return noon - now.getTime() + ((day - now.getUTCDay() + 7) % 7) * DAY + 7 * DAY;
}

describe('A policy to copy', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const capabilities = ['restart', 'fetch-page', 'send-mail'];
    await createAgent(app, { name: 'bot', roles: ['operations'], capabilities });
    await createPolicy(app, { name: 'mails', actions: ['fetch-*', 'send-*'] });
    for (const policy of copied().values()) await createPolicy(app, { ...policy });
    return { app };
  });
  afterEach(() => restoreTime());

  async function execute(action: string, resourceId: string, run?: string): Promise<number> {
    const body = { action, resourceType: 'thing', resourceId, parameters: {}, ...(run !== undefined && { run }) };
    return (await send(stage.app, 'POST', '/api/v1/agents/bot/execute', { body })).status;
  }

  it('is one of these', () => {
    expect([...copied().keys()]).toEqual(['restart-in-office-hours', 'nothing-leaves-after-reading-from-outside']);
  });

  it('restarts in office hours only', async () => {
    await moveTime(untilNoon(WEDNESDAY));
    expect(await execute('restart', 'services/web')).toBe(200);
    await moveTime(untilNoon(SUNDAY) + 7 * DAY);
    expect(await execute('restart', 'services/web')).toBe(403);
  });

  it('lets nothing leave after reading from outside', async () => {
    expect(await execute('send-mail', 'mails/1', 'a')).toBe(200);
    expect(await execute('fetch-page', 'pages/1', 'a')).toBe(200);
    expect(await execute('send-mail', 'mails/2', 'a')).toBe(403);
    expect(await execute('send-mail', 'mails/2', 'b')).toBe(200);
    expect(await execute('send-mail', 'mails/3')).toBe(403);
  });
});
