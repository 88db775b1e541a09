// A real OAuth server on loopback, at which clients register themselves. Its access tokens are JWTs for the resource
// that the client names. Prints its issuer, and a line for each token that it issues. A line that it reads has the
// seconds of the access tokens that it issues from then on; they last ten minutes at first.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import Provider from 'oidc-provider';

let accessTokenTTL = 600;
createInterface(process.stdin).on('line', (line) => {
  accessTokenTTL = Number(line);
  console.log(`SECONDS ${line}`);
});
const resourceIndicators = {
  enabled: true,
  useGrantedResource: () => true,
  getResourceServerInfo: (_context, resource) => ({
    ...{ scope: 'execute', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL },
  }),
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    scopes: ['execute'],
    features: { registration: { enabled: true }, resourceIndicators },
    pkce: { required: () => true },
    issueRefreshToken: () => true,
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  provider.on('grant.success', ({ oidc }) => console.log(`GRANT ${oidc.params.grant_type}`));
  server.on('request', provider.callback());
  console.log(`ISSUER ${issuer}`);
});
