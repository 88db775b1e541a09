import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const AUDIENCE = process.env.AUDIENCE ?? 'https://governance.example.org';
const noBrowser = { redirect_uris: [], response_types: [] };

const server = createServer().listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
    scopes: ['openid', 'execute', 'read', 'review'],
    clients: [
      {
        client_id: 'invoice-bot',
        client_secret: 'the-secret-of-invoice-bot',
        grant_types: ['client_credentials'],
        scope: 'execute',
        ...noBrowser,
      },
      {
        client_id: 'sign-in',
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
        scope: 'openid review',
        ...noBrowser,
      },
      {
        client_id: 'console',
        // The provider ignores the port in redirect URIs of native clients, and takes http on this machine.
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['localhost', '127.0.0.1'].map((host) => `http://${host}/console/`),
        scope: 'openid read review',
      },
    ],
    clientBasedCORS: (_context, _origin, { clientId }) => clientId === 'console',
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // The console names no audience.
        defaultResource: (_context, { clientId }) => (clientId === 'console' ? AUDIENCE : undefined),
        useGrantedResource: (_context, { clientId }) => clientId === 'console',
        getResourceServerInfo: (_context, audience) => ({
          audience,
          scope: 'execute read review',
          accessTokenFormat: 'jwt',
        }),
      },
    },
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
