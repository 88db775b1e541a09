import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { describeOnSqlite } from '../../support/database/database-kind';
import { connectThroughProxy, textOf, type ToolResult } from './mcp-clients';
import { type Customer, openShop, type Shop } from './shop';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) process.stdout.write('SKIPPED: gov mcp over HTTPS needs openssl to make a certificate.\n');
const whereOpenssl = hasOpenssl ? it : it.skip;

describeOnSqlite('gov mcp, when the service is reached over HTTPS', () => {
  let shop: Shop;
  let secure: Server;
  let customer: Customer;
  let certificate: string;

  beforeAll(async () => {
    shop = await openShop();
    customer = await shop.customer('secure');
    if (!hasOpenssl) return;
    certificate = join(shop.folder, 'certificate.pem');
    const key = join(shop.folder, 'key.pem');
    const files = ['-keyout', key, '-out', certificate];
    const about = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...about], { stdio: 'ignore' });
    const port = Number(new URL(shop.app.url).port);
    secure = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
      const service = connect(port, '127.0.0.1');
      socket.pipe(service).pipe(socket);
      for (const end of [socket, service]) end.on('error', () => [socket, service].forEach((one) => one.destroy()));
    });
    await new Promise<void>((resolve) => secure.listen(0, 'localhost', resolve));
  });
  afterAll(async () => {
    if (hasOpenssl) secure.close();
    await shop.close();
  });

  async function called(trusted: NodeJS.ProcessEnv): Promise<ToolResult> {
    const { port } = secure.address() as AddressInfo;
    const environment = { ...customer.environment, GOVERNANCE_URL: `https://localhost:${port}`, ...trusted };
    const words = ['--patience', '0'];
    const options = { way: 'stdio', era: 'legacy', runs: customer.runs, environment, words } as const;
    const { client, close } = await connectThroughProxy(options);
    const result = await client.callTool({ name: 'echo', arguments: { n: 1 } });
    await close();
    return result;
  }

  whereOpenssl('checks, runs and reports a call', async () => {
    expect(textOf(await called({ NODE_EXTRA_CA_CERTS: certificate }))).toBe('{"n":1}');
    expect(await customer.executions('echo')).toEqual([expect.objectContaining({ outcome: 'executed' })]);
  });

  whereOpenssl('runs nothing where nobody vouches for the certificate', async () => {
    const ran = customer.ran('echo');
    const result = await called({});
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('cannot be reached');
    expect(customer.ran('echo')).toEqual(ran);
  });
});
