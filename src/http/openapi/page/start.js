/**
 * Starts Swagger UI in the browser, without its default of having a third-party server validate the document. The ids
 * in the examples are samples: `ent_00000000000000000000000002` refers to the second entity created in this browser
 * session. Each request is sent with the real ids, so that the examples can be executed unchanged; 64 zeros refer to
 * the policy set that was returned last.
 */
const STORE = 'created-records';
const SAMPLE_ID = /\b([a-z]{3})_0{20}(\d{6})\b/g;

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
    parameters:
      (Parameters, { React }) =>
      (props) => {
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
