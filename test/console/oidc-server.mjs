// A real OpenID Connect server on loopback, for the tests: node oidc-server.mjs <redirect URI> [<kind>]. Prints its
// issuer. Kinds: jwt (its access tokens are JWTs for the audience "governance"), no-cors, confidential (clients need a
// secret).
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const manifest = fileURLToPath(new URL('../../console/package.json', import.meta.url));
const { default: Provider } = await import(pathToFileURL(createRequire(join(manifest)).resolve('oidc-provider')).href);
const [redirectUri, kind] = process.argv.slice(2);
const authentication =
  kind === 'confidential'
    ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'a secret that no page can keep' }
    : { token_endpoint_auth_method: 'none' };
const resource = 'https://governance.example';
const resourceIndicators = {
  enabled: kind === 'jwt',
  defaultResource: () => resource,
  useGrantedResource: () => true,
  getResourceServerInfo: () => ({ scope: 'openid', audience: 'governance', accessTokenFormat: 'jwt' }),
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        application_type: 'native',
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        ...authentication,
      },
    ],
    clientBasedCORS: () => kind !== 'no-cors',
    features: { resourceIndicators },
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  server.on('request', provider.callback());
  console.log(`ISSUER ${issuer}`);
});
