import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../bench/support/free-port';
import { hasNginx } from '../../faults/support/balancer';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy } from '../../support/application/factories';
import { type Parsed, send } from '../../support/application/send';
import { codeBlocks, readDocument, ROOT } from '../../support/documents/markdown';
import { builtClient, CLIENT } from '../typescript-client';
import { type Issuer, startIssuer } from './issuer';
import { type JwtRole, loginFault } from './vault-rules';

if (!hasNginx) process.stdout.write('SKIPPED: the proxy of docs/permits.md needs nginx.\n');

const VAULT = 'https://vault.example.com';
const BLOCKS = codeBlocks(readDocument('docs/permits.md'));

/** The example of the document in a language. */
function example(language: string): string {
  return BLOCKS.find((block) => block.language === language)?.code ?? '';
}

describeOnSqlite('The permits of the document', () => {
  let issuer: Issuer;
  let folder: string;
  let target: string;
  const processes: ChildProcess[] = [];

  beforeAll(async () => {
    await builtClient();
    folder = mkdtempSync(join(tmpdir(), 'documented-permits-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(CLIENT, join(folder, 'node_modules', 'agent-governance-client'));
    symlinkSync(join(ROOT, 'node_modules', 'express'), join(folder, 'node_modules', 'express'));
    issuer = await startIssuer({ PERMIT_AUDIENCES: `bank,${VAULT}` });
    await createPolicy(issuer.app, { actions: ['send', 'cancel', 'list'] });
    await createAgent(issuer.app, { name: 'payer', capabilities: ['*'] });
    writeFileSync(join(folder, 'bank.mjs'), example('js'));
    const port = await freePort();
    const environment = { ...process.env, PORT: String(port), GOVERNANCE_ISSUER: issuer.publicUrl };
    processes.push(spawn(process.execPath, [join(folder, 'bank.mjs')], { env: environment, stdio: 'inherit' }));
    await listening(port);
    target = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    for (const child of processes) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await issuer.close();
    rmSync(folder, { recursive: true });
  });

  async function permitFor(request: Parsed): Promise<string> {
    const body = { resourceType: 'payment', permit: { audience: 'bank' }, ...request };
    return (await send(issuer.app, 'POST', '/api/v1/agents/payer/execute', { body })).body.permit;
  }

  function pay(number: string, body: object, permit?: string): Promise<Response> {
    const headers = { 'Content-Type': 'application/json', ...(permit && { Authorization: `Bearer ${permit}` }) };
    return fetch(`${target}/payments/${number}`, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  it('let the Express target do what they are for, once, and nothing else', async () => {
    const permit = await permitFor({ action: 'send', resourceId: 'payments/1', parameters: { amount: 80 } });
    for (const [number, amount] of [
      ['1', 81],
      ['2', 80],
    ] as const)
      expect((await pay(number, { amount }, permit)).status).toBe(403);
    expect((await pay('1', { amount: 80 })).status).toBe(403);
    const paid = await pay('1', { amount: 80 }, permit);
    expect([paid.status, await paid.json()]).toEqual([200, { sent: 80 }]);
    const again = await pay('1', { amount: 80 }, permit);
    expect([again.status, await again.json()]).toEqual([403, { error: 'The permit is refused: it was used before.' }]);
  });

  (hasNginx ? it : it.skip)('let nginx pass on what they are for', async () => {
    const upstream = await freePort();
    const port = await freePort();
    const configuration = example('nginx')
      .replace('http://bank', `http://127.0.0.1:${upstream}`)
      .replace('http://verifier/', `${target}/`)
      .replace('http://verifier', target);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const file = join(folder, 'nginx.conf');
    writeFileSync(
      file,
      `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
       events {} http { access_log off; ${paths.join(' ')}
       server { listen 127.0.0.1:${upstream}; location / { return 200 "cancelled [$http_authorization]"; } }
       server { listen 127.0.0.1:${port}; ${configuration} } }`,
    );
    processes.push(spawn('nginx', ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], { stdio: 'ignore' }));
    await listening(port);
    const permit = await permitFor({ action: 'cancel', resourceId: 'payments/7' });
    const cancel = (path: string, method = 'DELETE', token = permit): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { Authorization: `Bearer ${token}` } });
    for (const path of ['/payments/8', '/payments/7?force=true', '/payments/%37'])
      expect([path, (await cancel(path)).status]).toEqual([path, 403]);
    expect((await cancel('/payments/7', 'POST')).status).toBe(403);
    expect((await cancel('/permit', 'GET')).status).toBe(404);
    const cancelled = await cancel('/payments/7');
    expect([cancelled.status, await cancelled.text()]).toEqual([200, 'cancelled []']);
    expect((await cancel('/payments/7')).status).toBe(403);
  });

  it('open the role of the vault, by its documented rules, for one action alone', async () => {
    const text = example('sh');
    const role: JwtRole = JSON.parse(/<<EOF\n([\s\S]*?)\nEOF/.exec(text)?.[1] ?? '');
    const algorithms = /jwt_supported_algs=(\S+)/.exec(text)?.[1]?.split(',') ?? ['RS256'];
    const login = (
      token: string,
      changes: Partial<JwtRole> = {},
      discovery = issuer.publicUrl,
    ): Promise<string | null> => loginFault({ discovery, algorithms }, { ...role, ...changes }, token);
    const permit = await permitFor({ action: 'send', resourceId: 'payments/1', permit: { audience: VAULT } });
    expect(await login(permit)).toBeNull();
    const other = await permitFor({ action: 'list', resourceId: 'payments/1', permit: { audience: VAULT } });
    expect(await login(other)).toContain('/authorization_details/0/actions/0');
    expect(await login(await permitFor({ action: 'send', resourceId: 'payments/1' }))).toContain('aud');
    expect(await login(permit, { bound_subject: 'agt_other:send:payment' })).toContain('sub');
    expect(await login(permit, {}, `${issuer.publicUrl}/`)).toContain('issuer');
    expect(await login(`${permit.slice(0, -20)}${'A'.repeat(20)}`)).toContain('signature');
    expect(await loginFault({ discovery: issuer.publicUrl, algorithms: ['RS256'] }, role, permit)).toContain(
      'algorithm',
    );
  });
});

async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    }).finally(() => socket.destroy());
    if (isOpen === true) return;
    await sleep(50);
  }
}
