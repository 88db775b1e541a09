// A real OpenID Connect server on loopback, for the tests: node oidc-server.mjs <redirect URI>. Prints its issuer.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const manifest = fileURLToPath(new URL('../../console/package.json', import.meta.url));
const { default: Provider } = await import(pathToFileURL(createRequire(join(manifest)).resolve('oidc-provider')).href);
const [redirectUri] = process.argv.slice(2);

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  server.on('request', provider.callback());
  console.log(`ISSUER ${issuer}`);
});
