import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Starts Swagger UI in the browser, without its default of having a third-party server validate the document. The ids
 * in the examples are samples: `ent_00000000000000000000000002` refers to the second entity created in this browser
 * session. Each request is sent with the real ids, so that the examples can be executed unchanged; 64 zeros refer to
 * the policy set that was returned last.
 */
const UI_START = `const STORE = 'created-records';
const SAMPLE_ID = /\\b([a-z]{3})_0{20}(\\d{6})\\b/g;

const POLICY_SET = 'policy-set';
const SAMPLE_SET = '0'.repeat(64);

const createdRecords = () => JSON.parse(sessionStorage.getItem(STORE) ?? '{}');

function withRealIds(text) {
  const created = createdRecords();
  return text
    .replace(SAMPLE_ID, (sample, prefix, number) => created[prefix]?.[Number(number) - 1] ?? sample)
    .replace(SAMPLE_SET, (sample) => sessionStorage.getItem(POLICY_SET) ?? sample);
}

function remember(id) {
  const created = createdRecords();
  const ofKind = (created[id.slice(0, 3)] ??= []);
  // An id that is returned again is the same record.
  if (ofKind.includes(id)) return;
  ofKind.push(id);
  sessionStorage.setItem(STORE, JSON.stringify(created));
}

/** Headers that few requests need are shown after the body, folded. */
const headersLast = () => ({
  wrapComponents: {
    parameters: (Parameters, { React }) => (props) => {
      const headers = props.parameters.filter((parameter) => parameter.get('in') === 'header');
      const others = props.parameters.filter((parameter) => parameter.get('in') !== 'header');
      const main = React.createElement(Parameters, { ...props, key: 'main', parameters: others });
      if (headers.count() === 0) return main;
      const operation = props.operation.delete('requestBody').delete('callbacks');
      const rest = React.createElement(Parameters, { ...props, operation, parameters: headers });
      const summary = React.createElement('summary', null, 'Optional headers');
      return [main, React.createElement('details', { key: 'headers', className: 'optional-headers' }, summary, rest)];
    },
  },
});

SwaggerUIBundle({
  url: '/docs/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // A key that stays in the browser would be available to its next user.
  persistAuthorization: false,
  plugins: [headersLast],
  validatorUrl: null,
  requestInterceptor(request) {
    request.url = withRealIds(request.url);
    if (typeof request.body === 'string') request.body = withRealIds(request.body);
    return request;
  },
  responseInterceptor(response) {
    const { status, url, body } = response;
    const isNew = status === 201 || ((status === 200 || status === 202) && url.endsWith('/execute'));
    if (isNew && typeof body?.id === 'string') remember(body.id);
    const policySet = body?.policySet ?? body?.base;
    if (typeof policySet === 'string') sessionStorage.setItem(POLICY_SET, policySet);
    // Grants are not created by a request of their own.
    if (url.includes('/grants') && Array.isArray(body?.data)) body.data.forEach(({ id }) => remember(id));
    if (status === 202 && typeof body?.decisionId === 'string') remember(body.decisionId);
    return response;
  },
});
`;

/**
 * The page: everything it loads is served next to it, and it has no inline scripts, as the security headers require.
 */
const UI_PAGE = `<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Agent governance service</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/start.css">
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" sizes="32x32">
    <link rel="icon" type="image/png" href="/docs/favicon-16x16.png" sizes="16x16">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Style of the folded headers: hides their original heading. */
const UI_STYLE = `.optional-headers > summary { cursor: pointer; padding: 10px 20px; font-family: sans-serif; font-size: 14px; }
.optional-headers .opblock-section-header { display: none; }
`;

/** The page and what it loads, by path: a text of ours, or a file of Swagger UI, of which no others are served. */
const FILES: ReadonlyMap<string, readonly [type: string, text?: string]> = new Map([
  ['docs', ['text/html; charset=utf-8', UI_PAGE]],
  ['docs/start.js', ['text/javascript; charset=utf-8', UI_START]],
  ['docs/start.css', ['text/css; charset=utf-8', UI_STYLE]],
  ['docs/swagger-ui.css', ['text/css; charset=utf-8']],
  ['docs/swagger-ui-bundle.js', ['text/javascript; charset=utf-8']],
  ['docs/favicon-16x16.png', ['image/png']],
  ['docs/favicon-32x32.png', ['image/png']],
]);

export const UI_PATHS: readonly string[] = [...FILES.keys()];

/** One copy in memory for all clients, so that slow ones hold no copy of their own. */
const contents = new Map<string, Buffer>();

/** @param path of the request. Undefined when the page needs no such file. */
export async function uiFile(path: string): Promise<{ readonly type: string; readonly content: Buffer } | undefined> {
  const name = path.replaceAll(/^\/|\/$/g, '');
  const [type, text] = FILES.get(name) ?? [];
  if (type === undefined) return undefined;
  const content = contents.get(name) ?? (text === undefined ? await fileOfPackage(name) : Buffer.from(text));
  contents.set(name, content);
  return { type, content };
}

/** Swagger UI comes with @nestjs/swagger, which knows where it is. */
function fileOfPackage(name: string): Promise<Buffer> {
  const fromSwagger = createRequire(require.resolve('@nestjs/swagger'));
  return readFile(join(dirname(fromSwagger.resolve('swagger-ui-dist/package.json')), basename(name)));
}
