import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { approve, ask, company, EXECUTIONS, requireApproval } from '../approvals/support';
import { chainIsValid, createAgent, issueKey } from '../support/application/factories';
import { generatedSection, markdownTable } from '../support/documents/generated-section';
import { send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';
import { APPROVER_CHAINS } from './threats/approvers';
import { EXECUTION_CHAINS } from './threats/executions';
import { OTHER_CHAINS } from './threats/others';
import type { Scene, Send, Tokens } from './threats/scene';

const ISSUER = 'https://login.example.org';
const DOCUMENT = 'docs/threats-chains.txt';
const CHAINS = [...APPROVER_CHAINS, ...EXECUTION_CHAINS, ...OTHER_CHAINS];

/** Each right, and the chains of calls by which somebody could try to obtain it. */
describe('Rights cannot be obtained', () => {
  let app: TestApp;
  let number = 0;
  let folder: string;
  let tokens: Tokens;

  beforeAll(async () => {
    const tina = { iss: ISSUER, aud: 'governance', sub: 'tina' };
    const signed = await signedTokens(tina, { ...tina, aud: 'elsewhere' }, { ...tina, sub: 'sven' });
    const [hers = '', elsewhere = '', his = ''] = signed.tokens.map(({ ES256 }) => ES256 ?? '');
    tokens = { tina: hers, tinaElsewhere: elsewhere, sven: his };
    folder = mkdtempSync(join(tmpdir(), 'threats-'));
    const scopes = ['read', 'review'];
    const issuer = { issuer: ISSUER, audience: 'governance', jwks: 'keys.json', agents: ['role:auditing'], scopes };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: signed.keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await requireApproval(app);
    await createAgent(app, { name: 'tina', kind: 'human', roles: ['auditing', 'finance'] });
    await createAgent(app, { name: 'sven', kind: 'human', roles: ['finance'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const call: Send = (key, method, path, body, headers = {}) =>
    send(app, method, `/api/v1/${path}`, {
      ...(key.startsWith('eyJ') ? { key: null, headers: { Authorization: `Bearer ${key}` } } : { key, headers }),
      ...(body !== undefined && { body }),
    });

  async function scene(): Promise<Scene> {
    number += 1;
    return {
      app,
      people: await company(app, `-${number}`),
      place: { resourceId: `orders/${number}` },
      tokens,
      keyOf: async (agentId, ...scopes) =>
        (await issueKey(app, { scopes, ...(agentId !== null && { agentId }) })).secret,
    };
  }

  it.each(CHAINS)('$right: $holder $calls', async ({ walk, end: [status, reason] }) => {
    const answer = await walk(await scene(), call);
    expect([answer.status, answer.body.error.reason]).toEqual([status, reason]);
  });

  it('although each of the calls works for those who may make it', async () => {
    const { people, place } = await scene();
    const waiting = (await ask(app, people.bot, place)).body;
    expect((await approve(app, waiting.decisionId, people.ann)).body.status).toBe('approved');
    expect((await send(app, 'POST', `${EXECUTIONS}/${waiting.id}/resume`)).body.outcome).toBe('authorized');
  });

  it('as docs/threats-chains.txt lists them', () => {
    const rows = CHAINS.map(({ right, holder, calls, end: [status, reason] }) => [
      right,
      holder,
      calls,
      reason === undefined ? String(status) : `${status} \`${reason}\``,
    ]);
    const table = markdownTable(['Right', 'Who tries', 'By which calls', 'The last is answered'], rows);
    expect(generatedSection(DOCUMENT, 'chains', table)).toBe(table);
  });
});
