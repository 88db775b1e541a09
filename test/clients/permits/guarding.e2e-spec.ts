import { describeOnSqlite } from '../../support/database/database-kind';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GovernanceClient } from '../../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { approve, company, type Company, requireApproval } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import { createPolicy, issueKey } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { ROOT } from '../../support/documents/markdown';
import { type ProgramRun, run } from '../../support/processes/shell';
import { buildCommandLine, gov as runGov } from '../command-line';
import { builtClient } from '../typescript-client';
import { type Issuer, startIssuer } from './issuer';

const SEND = { action: 'send', resourceType: 'mail', resourceId: 'mails/1', parameters: { to: 'carol' } };
const REFUND = { action: 'refund', resourceType: 'payment', parameters: { amount: 80 } };

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) process.stdout.write('SKIPPED: the permits of the Python client need python3.\n');

describeOnSqlite('A permit in the hand of an agent', () => {
  let issuer: Issuer;
  let people: Company;
  let bot: GovernanceClient;
  let key: string;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'guarding-'));
    const { GovernanceClient } = await builtClient();
    await buildCommandLine();
    issuer = await startIssuer({ PERMIT_AUDIENCES: 'bank' });
    people = await company(issuer.app);
    await requireApproval(issuer.app);
    await createPolicy(issuer.app, { actions: ['send'] });
    key = (await issueKey(issuer.app, { scopes: ['execute'], agentId: people.bot.id })).secret;
    bot = new GovernanceClient({ url: issuer.app.url, key });
  });
  afterAll(async () => {
    await issuer.close();
    rmSync(folder, { recursive: true });
  });

  const gov = (...words: string[]): Promise<ProgramRun> =>
    runGov(words, { environment: { GOVERNANCE_URL: issuer.app.url, GOVERNANCE_API_KEY: API_KEY }, folder });
  const claimsIn = (token = ''): Parsed =>
    JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString('utf8'));

  it('comes with what guard carries out, at once and after an approval', async () => {
    const token = await bot.guard({ ...SEND, permit: 'bank' }, ({ permit }) => permit ?? '');
    expect(claimsIn(token)).toMatchObject({ aud: 'bank', agent: people.bot.id });
    expect(await bot.guard(SEND, ({ permit }) => permit ?? 'none')).toBe('none');
    const request = { ...REFUND, resourceId: 'orders/1', permit: 'bank' };
    const pending = bot.guard(request, ({ permit, id }) => ({ permit, id }), { wait: 60 });
    await approveNext();
    const { permit, id } = await pending;
    expect(claimsIn(permit)).toMatchObject({ aud: 'bank', jti: id });
  });

  it('does not keep guard from explaining a denial', async () => {
    const denied = bot.guard({ ...SEND, action: 'burn', permit: 'bank' }, () => undefined);
    await expect(denied).rejects.toMatchObject({ status: 403, explanation: { effect: 'deny' } });
  });

  (hasPython ? it : it.skip)('comes with what the Python guard carries out', async () => {
    const program = `
import asyncio, os
from governance import Governance
from governance_async import AsyncGovernance
service = Governance(os.environ["GOVERNANCE_URL"], os.environ["GOVERNANCE_API_KEY"])

@service.guard("send", "mail", "mails/1", permit="bank")
def mail(to, permit=None):
    return permit

print(mail("carol"))

@AsyncGovernance(os.environ["GOVERNANCE_URL"], os.environ["GOVERNANCE_API_KEY"]).guard("send", "mail", "mails/2", permit="bank")
async def mail_later(permit=None):
    return permit

print(asyncio.run(mail_later()))
with service.guard("refund", "payment", "orders/2", permit="bank", wait=60) as execution:
    print(execution.permit)
`;
    const environment = { GOVERNANCE_URL: issuer.app.url, GOVERNANCE_API_KEY: key, PYTHONDONTWRITEBYTECODE: '1' };
    const running = run('python3', ['-c', program], { folder: join(ROOT, 'clients', 'python'), environment });
    await approveNext();
    const { output, errors, exitCode } = await running;
    expect([errors, exitCode]).toEqual(['', 0]);
    const [decorated, awaited, entered] = output.trim().split('\n').map(claimsIn);
    const sent = { aud: 'bank', authorization_details: [{ actions: ['send'] }] };
    expect([decorated, awaited]).toMatchObject([sent, sent]);
    expect(entered).toMatchObject({ aud: 'bank', authorization_details: [{ actions: ['refund'] }] });
  });

  it('is shown by gov permit inspect, which says whether it holds', async () => {
    const { body } = await send(issuer.app, 'POST', '/api/v1/agents/bot/execute', {
      body: { ...SEND, permit: { audience: 'bank' }, onBehalfOf: { subject: 'user:4711' } },
    });
    const { output, exitCode } = await gov('permit', 'inspect', body.permit);
    expect(exitCode).toBe(0);
    for (const [name, text] of [
      ['issuer', issuer.publicUrl],
      ['audience', 'bank'],
      ['agent', people.bot.id],
      ['on behalf of', 'user:4711'],
      ['action', 'send'],
      ['resource', 'mail/mails/1'],
      ['execution', body.id],
      ['signature', 'by a key of the service'],
      ['validity', '\\d min left'],
    ])
      expect(output).toMatch(new RegExp(`^${name} +${text}`, 'm'));
    const json = JSON.parse((await gov('permit', 'inspect', body.permit, '--json')).output);
    expect(json).toMatchObject({ header: { alg: 'ES256' }, claims: claimsIn(body.permit), signed: true });
    const [head, claims, signature] = body.permit.split('.');
    const other = Buffer.from(JSON.stringify({ ...claimsIn(body.permit), aud: 'shop', exp: 1 })).toString('base64url');
    const forged = await gov('permit', 'inspect', `${head}.${other}.${signature}`);
    expect(forged.exitCode).toBe(1);
    expect(forged.output).toMatch(/NOT by a key of the service\nvalidity +over for \d+ d/);
    expect((await gov('permit', 'inspect', `${head}.${claims}`)).errors).toContain('not a token');
    const signed = 'bank\nsignature    by a key of the service';
    const odd = { aud: signed, iss: { toString: 1 }, exp: 'soon', act: 'x', authorization_details: [null] };
    const faked = Buffer.from(JSON.stringify(odd)).toString('base64url');
    const inspection = await gov('permit', 'inspect', `${head}.${faked}.${signature}`);
    expect(inspection).toMatchObject({ exitCode: 1, errors: '' });
    expect(inspection.output.match(/^signature .*$/gm)).toEqual(['signature    NOT by a key of the service']);
    expect(inspection.output).toMatch(/^expires +soon\n[^]*validity +it does not say when it ends$/m);
  });

  /** Approves the next request that waits. */
  async function approveNext(): Promise<void> {
    for (;;) {
      const { data } = (await send(issuer.app, 'GET', '/api/v1/decisions?status=proposed')).body;
      if (data.length > 0) return void (await approve(issuer.app, data[0].id, people.ann));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
});
