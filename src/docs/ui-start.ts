/**
 * Starts Swagger UI in the browser. By default it would have a server of others check the document.
 *
 * The ids in the examples are samples: `ent_00000000000000000000000002` stands for the second entity created in this
 * browser session. Each request gets the real ids in their place, so that the examples can be executed as they stand.
 */
export const UI_START = `const STORE = 'created-records';
const SAMPLE_ID = /\\b([a-z]{3})_0{20}(\\d{6})\\b/g;

const createdRecords = () => JSON.parse(sessionStorage.getItem(STORE) ?? '{}');

function withRealIds(text) {
  const created = createdRecords();
  return text.replace(SAMPLE_ID, (sample, prefix, number) => created[prefix]?.[Number(number) - 1] ?? sample);
}

function remember(id) {
  const created = createdRecords();
  (created[id.slice(0, 3)] ??= []).push(id);
  sessionStorage.setItem(STORE, JSON.stringify(created));
}

SwaggerUIBundle({
  url: '/docs/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor(request) {
    request.url = withRealIds(request.url);
    if (typeof request.body === 'string') request.body = withRealIds(request.body);
    return request;
  },
  responseInterceptor(response) {
    const isNew = response.status === 201 || (response.status === 200 && response.url.endsWith('/execute'));
    if (isNew && typeof response.body?.id === 'string') remember(response.body.id);
    return response;
  },
});
`;
