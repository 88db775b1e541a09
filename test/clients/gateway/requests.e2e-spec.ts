import { createHash } from 'node:crypto';
import { describeOnSqlite } from '../../support/database/database-kind';
import { type ActionOrRefusal, buildActions, type GatewayRequest } from './built-actions';
import { loadGatewayModule } from './gateway-modules';

/** Bytes of a body that would take long in one turn. */
const LARGE_BYTES = 16 * 2 ** 20;
const JSON_BODY = { type: 'application/json' };
const FORM_BODY = { type: 'multipart/form-data', boundary: 'b' };
const LINE_END = Buffer.from('\r\n');
const PART_HEAD = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n';

const ANY = { action: 'call', resource: { type: 'api', id: 'all' } };
const UPSTREAM = {
  headers: ['Api-Version'],
  credentials: [{ query: 'api_key', value: '${env:VENDOR_KEY}' }],
  secret: ['/body/card'],
  routes: [
    {
      ...ANY,
      match: 'POST /refunds',
      resource: { type: 'charge', id: 'charges/${body:/charge}' },
      secret: ['/body/pin'],
    },
    { ...ANY, match: 'GET /charges/:id', resource: { type: 'charge', id: 'charges/${path:id}' } },
    { ...ANY, match: 'GET,POST /find', resource: { type: 'term', id: '${query:q}' } },
    { ...ANY, match: 'GET /files/*rest', resource: { type: 'file', id: 'files/${path:rest}' } },
    {
      ...ANY,
      match: 'POST /own',
      parameters: { amount: '${body:/amount}', kind: 'fixed', list: ['${query:q}'] },
      query: true,
    },
    { ...ANY, match: 'POST /small', maxBody: 4 },
    { ...ANY, match: 'POST /large', maxBody: 2 ** 26 },
    { ...ANY, match: 'GET /admin' },
    { ...ANY, match: 'GET /report.v1' },
    { ...ANY, match: 'GET,POST /' },
    { ...ANY, match: 'GET,POST,DELETE /:any' },
  ],
};
const JSON_TYPE = ['Content-Type', 'application/json'];
const FORM_TYPE = ['Content-Type', 'application/x-www-form-urlencoded'];
const get = (target: string, headers: readonly string[] = []): GatewayRequest => ({ target, headers });
const post = (body: string, headers: readonly string[] = JSON_TYPE, target = '/x'): GatewayRequest => ({
  method: 'POST',
  target,
  headers,
  body,
});
const form = (body: string): GatewayRequest => post(body, FORM_TYPE);
const multipart = (body: string, boundary = 'B'): GatewayRequest =>
  post(body, ['Content-Type', `multipart/form-data; boundary=${boundary}`]);
const part = (boundary: string, content: string, name = 'a'): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n--${boundary}--\r\n`;
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('hex');
const digestOf = (text: string): object => ({ $sha256: sha256(text), bytes: text.length });

type Row = readonly [GatewayRequest, string];

/** Status and reason of each refusal. */
const REFUSED: readonly Row[] = [
  ...['x', '*', 'http://a/b', '/a#b', '/a b', '/\u00e9', '/a\u007f', '', '//a', '/a/', '/a/../b', '/a/./b', '/a\\b']
    .concat('/%2e%2e', '/a%2Fb', '/a%252Fb', '/a%5Cb', '/a;b', '/a%3Bb', '/%61', '/%FF', '/a%00', '/a%0Ab', '/%u0041')
    .concat('/files/a;b', '/files//a', '/https:/a')
    .map((target): Row => [get(target), '400 path_ambiguous']),
  ...['/Admin', '/ADMIN', '/admin.json', '/admin.tar.gz', '/report', '/REPORT', '/report.V1', '/report.json'].map(
    (target): Row => [get(target), '400 path_ambiguous'],
  ),
  [get(`/${'a'.repeat(4_096)}`), '400 path_ambiguous'],
  [get('/Charges/1'), '403 route_not_listed'],
  [get('/a/b/c'), '403 route_not_listed'],
  [{ target: '/admin', method: 'PUT' }, '403 route_not_listed'],
  [{ target: '/admin', method: 'get' }, '403 route_not_listed'],
  [{ target: '/admin', method: 'TRACE' }, '403 route_not_listed'],
  [get('/charges/a/b'), '403 route_not_listed'],
  [get('/x', ['Api_Version', '1']), '400 header_ambiguous'],
  [get('/x', ['X_Other', '1']), '400 header_ambiguous'],
  [get('/x', ['Api-Version', '1', 'api-version', '1']), '400 header_ambiguous'],
  [post('{}', [...JSON_TYPE, ...JSON_TYPE]), '400 header_ambiguous'],
  ...['json', 'application/json; charset=utf-8; charset=utf-8', 'application/json; odata=verbose', 'a/b, c/d']
    .concat('multipart/form-data', 'multipart/form-data; boundary=', 'multipart/mixed; boundary=a')
    .map((type): Row => [post('{}', ['Content-Type', type]), '400 header_ambiguous']),
  [post('{}', [...JSON_TYPE, 'Content-Encoding', 'gzip']), '415 body_encoded'],
  [post('{}', [...JSON_TYPE, 'Content-Encoding', '']), '415 body_encoded'],
  [post('12345', JSON_TYPE, '/small'), '413 body_too_large'],
  // The order of the contract: headers and path, route, 413 and 415, query and body.
  [get('/nothing/listed?a;b', ['Content-Encoding', 'gzip', 'A_b', '1']), '400 header_ambiguous'],
  [get('/nothing/listed?a;b', ['Content-Encoding', 'gzip']), '403 route_not_listed'],
  [get('/x?a;b', ['Content-Encoding', 'gzip']), '415 body_encoded'],
  [post('12345', JSON_TYPE, '/small?a;b'), '413 body_too_large'],
  ...['a=1&a[b]=2', 'a[b]=1&a[b][c]=2', 'a[]=1&a[0]=2', 'A=1&a=2', 'a=1&%61=2', 'a[b]=1&a%5Bb%5D=2', 'a[b]=1&a[b]=2']
    .concat('\uff41=1&a=2', 'a;b', 'a=1;b=2', '%zz', 'a=%', 'a=%FF', 'a=%00', 'a=1&&b=2', 'a=1&', '=1', '[a]=1')
    .concat(
      '_method=PUT',
      '_METHOD=PUT',
      '%5Fmethod=PUT',
      '_method[]=PUT',
      '.method=PUT',
      '+_method=PUT',
      '%20a=1',
      'a=1&+a=2',
      'user.id=1&user_id=2',
      'user.id=1&user[id]=2',
      'USER.id=1&user[Id]=2',
      'a[b.c]=1&a.b[c]=2',
      'a[b][]=1&a.b=2',
      'a[0][b]=1&a[0.b]=2',
      'a[b=1',
      'a]=1',
      'a=1]=5',
      'a=1%5D=5',
      'a[b]=1&c=d]=',
      'a[b]c=1',
      'api_key=x',
      'API_KEY=x',
      'api_key[]=x',
    )
    .concat(
      '{"token":"x="}',
      'a=1&{"token":"x="}',
      "{'token':'x='}",
      '"x"=',
      'a[{b}]=1',
      'a%0Ab=1',
      '<x%20y=1',
      `${'n'.repeat(257)}=1`,
    )
    .concat('$secret=1', '$sha256=1&bytes=2', '$hmac=1', '__proto__=1', `a${'['.repeat(40)}=1`)
    .flatMap((text): Row[] => [
      ...(/^[\x21-\x7e]*$/.test(text) ? [[get(`/x?${text}`), '400 query_ambiguous'] as const] : []),
      [form(Buffer.from(text).toString('latin1')), '400 body_ambiguous'],
    ]),
  [form('a=\xff'), '400 body_ambiguous'],
  ...['a', 'a[]'].flatMap((name): Row[] => {
    const fields = Array.from({ length: 1_001 }, (_, index) => `${name.replace('a', `a${index}`)}=`).join('&');
    return [
      [get(`/x?${fields}`), '400 query_ambiguous'],
      [form(fields), '400 body_ambiguous'],
    ];
  }),
  // Some programs prefer the body.
  ...['q=2', 'Q=2', 'a=1&q[b]=2', 'q[]=2'].map((text): Row => [
    post(text, FORM_TYPE, '/find?q=1'),
    '400 body_ambiguous',
  ]),
  [post('{"q":2}', JSON_TYPE, '/find?q=1'), '400 body_ambiguous'],
  [post(`{"Q":[${'1,'.repeat(10_000)}1]}`, JSON_TYPE, '/find?q=1'), '400 body_ambiguous'],
  [post(part('B', '2', 'q'), ['Content-Type', 'multipart/form-data; boundary=B'], '/find?q=1'), '400 body_ambiguous'],
  [post('{"q":2}', JSON_TYPE, '/own?q=1'), '400 body_ambiguous'],
  // A template takes the one, or a policy compares it, and a program may take the other.
  [post('{"amount":1}', JSON_TYPE, '/own?q=1&amount=2'), '400 body_ambiguous'],
  ...['a=1', 'A[b]=1', 'x=1&a[]=2'].map((text): Row => [post(text, FORM_TYPE, '/x?a=1'), '400 body_ambiguous']),
  [post('user.id=1', FORM_TYPE, '/x?user[id]=2'), '400 body_ambiguous'],
  [post('user[id]=1', FORM_TYPE, '/x?user.id=2'), '400 body_ambiguous'],
  [post('{"a":1}', JSON_TYPE, '/x?a=1'), '400 body_ambiguous'],
  [post(part('B', '2'), ['Content-Type', 'multipart/form-data; boundary=B'], '/x?a=1'), '400 body_ambiguous'],
  ...['{"token":"x"}', '[1]', '7', 'token', 'token: x', '<token>x</token>', 'a=1&token'].map((text): Row => [
    form(text),
    '400 body_ambiguous',
  ]),
  [post('a=1', ['Content-Type', 'application/x-www-form-urlencoded; charset=latin1']), '400 body_ambiguous'],
  [post('{"charge":"c"}', JSON_TYPE, '/refunds?a=1'), '400 query_ambiguous'],
  [post('{"charge":"c"}', JSON_TYPE, '/refunds?'), '400 query_ambiguous'],
  ...['{', '', '{"a":1}x', '{a:1}', '\xef\xbb\xbf{}', '"\xff"', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"a":1,"A":2}']
    .concat('[{"b":{"k":1,"\xe2\x84\xaa":2}}]', '{"$sha256":"a"}', '[{"$secret":1}]', '{"a":{"$hmac":1}}')
    .concat('{"__proto__":1}', '"\\u0000"', '"\\ud800"', '9007199254740993', '1e999', '1e-999', nested(31))
    .concat('0.10000000000000000001', '{"_method":"PUT"}', '{"_METHOD":"PUT"}')
    .filter((body) => body !== '')
    .map((body): Row => [post(body), '400 body_ambiguous']),
  [post('{"a":1,"a":2}', ['Content-Type', 'application/vnd.api+json']), '400 body_ambiguous'],
  [post('{}', ['Content-Type', 'application/json; charset=utf-16']), '400 body_ambiguous'],
  // What is only hashed is checked, too.
  ...[
    '{"a":1,"a":2}',
    '{"a":1,"A":2}',
    '{"$sha256":"a"}',
    '{"__proto__":1}',
    '"\\u0000"',
    '"\\udc00"',
    '1e999',
    nested(30),
  ]
    .concat(
      `1${'0'.repeat(100_000)}1`,
      '{"a":1,}',
      '{"a" 1}',
      '[1 2]',
      '{1:2}',
      '"\n"',
      '"\\x"',
      '01',
      'nul',
      '"a',
      '{',
      ']',
    )
    .map((item): Row => [post(`[${'{},'.repeat(10_000)}${item}]`), '400 body_ambiguous']),
  [post(`{"_method":"PUT","a":[${'1,'.repeat(10_000)}1]}`), '400 body_ambiguous'],
  [post(`[${'1,'.repeat(1_000_000)}1]`, JSON_TYPE, '/large'), '400 body_ambiguous'],
  [post(`{"${'a'.repeat(2 ** 20)}":1}`, JSON_TYPE, '/large'), '400 body_ambiguous'],
  [post(`a=${'b'.repeat(2 ** 23)}`, FORM_TYPE, '/large'), '400 body_ambiguous'],
  [post(`{"charge":"c","a":[${'1,'.repeat(10_000)}1]}`, JSON_TYPE, '/refunds'), '400 resource_missing'],
  [multipart(part('C', 'x')), '400 body_ambiguous'],
  [multipart(`x${part('B', 'x')}`), '400 body_ambiguous'],
  [multipart(`${part('B', 'x')}x`), '400 body_ambiguous'],
  [multipart(part('B', 'x\n--B\ny')), '400 body_ambiguous'],
  [multipart(part('B', 'x\r\n--Bx\r\ny')), '400 body_ambiguous'],
  [multipart(part('B', 'x\r\n--boundary\r\ny')), '400 body_ambiguous'],
  [multipart(part('B', 'PUT', '_method')), '400 body_ambiguous'],
  [multipart(part('B', 'PUT', '%5FMETHOD')), '400 body_ambiguous'],
  ...[
    ...[
      'name*0="_met"; name*1="hod"',
      "name*=UTF-8''_method",
      'name="_\\method"',
      'name=_\\method',
      'name="\\_method"',
    ],
    ...[
      'name="=?UTF-8?Q?=5Fmethod?="',
      'name="%5Fmethod"; filename="%FF"',
      'name="%24method"',
      'name=" .method"',
      "name='_method'",
    ],
    ...['name="a"; name="b"', 'name="a"; x="b"', 'name=""', '', 'filename="a"', 'name="a[b"', 'name="\u00c2\u0085a"'],
    ...['name="a"; filename="b\\"; name=c"', 'name="a"; filename="; name=_method"', 'name="a";\r\n filename="b"'],
    ...['name="a"\r\nContent-Disposition: form-data; name="b"', 'name="a"\r\nContent-ID: _method', 'name="a"\nX: b'],
    ...[`name="${'n'.repeat(257)}"`, `name="a"\r\nX: ${'x'.repeat(9_000)}`, 'name="a', 'name=a b'],
  ].map((parameters): Row => [
    multipart(`--B\r\nContent-Disposition: form-data; ${parameters}\r\n\r\nPUT\r\n--B--`),
    '400 body_ambiguous',
  ]),
  [multipart('--B\r\n\r\nPUT\r\n--B--'), '400 body_ambiguous'],
  [multipart('--B\r\nContent-ID: a\r\n\r\nPUT\r\n--B--'), '400 body_ambiguous'],
  [multipart(`${part('B', 'x').slice(0, -4).repeat(1_001)}--`), '400 body_ambiguous'],
  [post(part('B', 'x'), ['Content-Type', 'multipart/form-data; charset=utf-7; boundary=B']), '400 body_ambiguous'],
  [post('_method=DELETE&a=1', []), '400 body_ambiguous'],
  ...['text/json', 'text/x-json', 'application/x-json', 'application/jsonrequest', 'application/json-seq', 'a/+jsonx']
    .concat('application/x-ndjson', 'text/javascript', 'application/x-url-encoded', 'x/www-form-urlencoded')
    .concat('multipart/mixed', 'multipart/related')
    .map((type): Row => [post('{"_method":"DELETE"}', ['Content-Type', type]), '400 body_ambiguous']),
  ...[
    '{}',
    '{"charge":""}',
    '{"charge":null}',
    '{"charge":"a/b"}',
    '{"charge":["a"]}',
    '{"charge":{}}',
    '{"charge":".."}',
  ]
    .concat('[]', '{"charge":"a\\\\b"}', `{"charge":"${'a'.repeat(501)}"}`)
    .map((body): Row => [post(body, JSON_TYPE, '/refunds'), '400 resource_missing']),
  [post('charge', ['Content-Type', 'text/plain'], '/refunds'), '400 resource_missing'],
  [post('', [], '/refunds'), '400 resource_missing'],
  ...['/find', '/find?', '/find?q', '/find?q=', '/find?q=a%2Fb', '/find?q=1&q=2', '/find?q[]=1'].map((target): Row => [
    get(target),
    '400 resource_missing',
  ]),
];

// Independent of the database, so once is enough.
describeOnSqlite('What is refused before the service is asked', () => {
  it('names its status and reason, and what would be right', async () => {
    const results = await buildActions(
      UPSTREAM,
      REFUSED.map(([request]) => request),
    );
    const outcomes = results.map(({ status, reason }, index) => [REFUSED[index]?.[0], `${status} ${reason}`]);
    expect(outcomes).toEqual(REFUSED.map(([request, refusal]) => [request, refusal]));
    for (const { message } of results) expect(message).toMatch(/^[A-Z$].*\.$/);
  });
});

describeOnSqlite('The action of a request', () => {
  const actionOf = async (request: GatewayRequest): Promise<ActionOrRefusal> => {
    const [result] = await buildActions(UPSTREAM, [request]);
    if (result === undefined) throw new Error('The gateway printed no result.');
    return result;
  };

  it('has method, path, type of the body and listed headers', async () => {
    const headers = [
      'content-type',
      'Application/JSON; Charset="UTF-8"',
      'API-Version',
      '2',
      'X-Other',
      '3',
      'Accept',
      '*/*',
    ];
    expect(await actionOf(post('{"charge":"c 1","card":1}', headers, '/refunds'))).toEqual({
      route: 'POST /refunds',
      resource: { type: 'charge', id: 'charges/c 1' },
      parameters: {
        request: {
          upstream: 'api',
          method: 'POST',
          path: '/refunds',
          contentType: 'application/json; charset=utf-8',
          headers: { 'api-version': '2' },
        },
        body: { charge: 'c 1', card: 1 },
      },
      secret: ['/body/card', '/body/pin'],
    });
  });

  it.each([
    ['a number', post('{"charge":7}', JSON_TYPE, '/refunds'), 'charges/7'],
    ['a boolean', post('{"charge":true}', JSON_TYPE, '/refunds'), 'charges/true'],
    ['JSON above 512 KiB', post(`{"a":"${'a'.repeat(600_000)}","charge":"c"}`, JSON_TYPE, '/refunds'), 'charges/c'],
    ['a form field', post('charge=c%201', FORM_TYPE, '/refunds'), 'charges/c 1'],
    ['a part of the path, decoded once', get('/charges/a%20b'), 'charges/a b'],
    ['several segments', get('/files/a/b%20c/d'), 'files/a/b c/d'],
    ['a query parameter', get('/find?q=a%20b'), 'a b'],
    ['a query parameter beside a body', post('{"a":{"q":1}}', JSON_TYPE, '/find?q=1'), '1'],
  ])('takes %s for its resource', async (_, request, id) => {
    expect((await actionOf(request)).resource?.id).toBe(id);
  });

  it.each([
    ['absent', '/x', undefined],
    ['empty', '/x?', {}],
    ['of single values', '/x?a=1&b=%C3%A9&c&d=', { a: '1', b: 'é', c: null, d: '' }],
    ['of lists', '/x?a[]=1&b=1&b=2', { 'a[]': ['1'], b: ['1', '2'] }],
    [
      'nested',
      '/x?metadata[a]=1&metadata[b]=2&expand[0]=x&expand[1]=y',
      {
        ...{ 'metadata[a]': '1', 'metadata[b]': '2' },
        ...{ 'expand[0]': 'x', 'expand[1]': 'y' },
      },
    ],
    ['with decoded names', '/x?a%5Bb%5D=1&m%6Fde=live', { 'a[b]': '1', mode: 'live' }],
  ])('has a query that is %s', async (_, target, query) => {
    expect((await actionOf(get(target))).parameters?.['query']).toEqual(query);
  });

  it.each([
    ['JSON', post('{"a":[1,"x",null]}'), { a: [1, 'x', null] }],
    ['JSON that is no object', post('[1]'), [1]],
    ['JSON of 30 levels', post(nested(30)), JSON.parse(nested(30)) as unknown],
    ['a form', form('a=1&b[]=x+y&b[]=z&when>=2'), { a: '1', 'b[]': ['x y', 'z'], 'when>': '2' }],
    ['text', post('abc', ['Content-Type', 'text/plain']), digestOf('abc')],
    ['bytes', post('\x00\xff', ['Content-Type', 'application/octet-stream']), digestOf('\x00\xff')],
    [
      'JSON of more than 10,000 values',
      post(JSON.stringify(Array(10_001).fill(1))),
      digestOf(JSON.stringify(Array(10_001).fill(1))),
    ],
    ['JSON above 512 KiB', post(`"${'a'.repeat(600_000)}"`), digestOf(`"${'a'.repeat(600_000)}"`)],
    ['a multipart form', multipart(part('B', 'x')), digestOf(part('boundary', 'x'))],
    ...['payment_method', 'a[b][]', 'file"; filename="payment_method (1).csv'].map(
      (name): [string, GatewayRequest, object] => [
        `a multipart form with name="${name}"`,
        multipart(part('B', 'x', name)),
        digestOf(part('boundary', 'x', name)),
      ],
    ),
    ['nothing', post('', JSON_TYPE), undefined],
  ])('has a body that is %s', async (_, request, body) => {
    expect((await actionOf(request)).parameters?.['body']).toEqual(body);
  });

  const formOf = (...contents: readonly Buffer[]): Buffer =>
    Buffer.concat([
      ...contents.flatMap((content) => [Buffer.from(PART_HEAD), content, LINE_END]),
      Buffer.from('--b--'),
    ]);

  it.each([
    ['JSON of many values', JSON_BODY, () => Buffer.from(`[${'{},'.repeat(340_000)}1]`)],
    ['JSON of one text', JSON_BODY, () => Buffer.from(`"${'a'.repeat(LARGE_BYTES)}"`)],
    ['JSON of one text of escapes', JSON_BODY, () => Buffer.from(`"${'\\n'.repeat(LARGE_BYTES / 2)}"`)],
    ['a multipart form of one part', FORM_BODY, () => formOf(Buffer.alloc(LARGE_BYTES, '-'))],
    ['a multipart form of many parts', FORM_BODY, () => formOf(...Array<Buffer>(900).fill(Buffer.alloc(20_000, '-')))],
    ['bytes', { type: 'application/octet-stream' }, () => Buffer.alloc(LARGE_BYTES)],
  ])('is made of a large body that is %s while others are served', async (_, contentType, makeBody) => {
    const { readBodyParameter } = await loadGatewayModule('request/body-parameter');
    const bytes = makeBody();
    const rules = { credentialNames: [], maxValues: 10_000, needsContent: false, owner: { agentId: 'bot' } };
    let [isRead, turns] = [false, 0];
    const reading = readBodyParameter(bytes, { ...rules, contentType }).finally(() => (isRead = true));
    while (!isRead) {
      await new Promise(setImmediate);
      turns += 1;
    }
    // What no template needs is not parsed, which would take one turn.
    expect(await reading).toMatchObject({ parameter: { $sha256: expect.any(String) }, content: undefined });
    expect(turns).toBeGreaterThan(10);
  });

  it('has the parameters of its route instead of query and body, with a hash of these', async () => {
    const { parameters } = await actionOf(post('{"amount":5}', JSON_TYPE, '/own?q=a%20b'));
    expect(parameters).toMatchObject({
      amount: 5,
      kind: 'fixed',
      list: ['a b'],
      request: { sha256: sha256('q=a%20b\n{"amount":5}') },
    });
    expect(Object.keys(parameters ?? {}).sort()).toEqual(['amount', 'kind', 'list', 'request']);
  });

  it('is of the route that a path of many dots matches, and of no earlier one', async () => {
    const dots = 'a.'.repeat(2_000);
    const targets = [`/${dots}x`, `/admin.${dots}x`, `/report.v1.${dots}x`, `/x/${dots}x`];
    const results = await buildActions(
      { ...UPSTREAM, secret: [], headers: [] },
      targets.map((target) => get(target)),
    );
    expect(results.map(({ route, reason }) => route ?? reason)).toEqual([
      'GET,POST,DELETE /:any',
      ...['path_ambiguous', 'path_ambiguous', 'route_not_listed'],
    ]);
  });

  it('tells a "+" of a query from an encoded blank by that hash', async () => {
    const [plus, blank] = await buildActions(UPSTREAM, [get('/x?a=b+c'), get('/x?a=b%20c')]);
    expect(plus?.parameters).toMatchObject({ query: { a: 'b c' }, request: { sha256: sha256('a=b+c\n') } });
    expect(blank?.parameters?.['query']).toEqual({ a: 'b c' });
    expect(blank?.parameters?.['request']).not.toHaveProperty('sha256');
  });

  it('is decided by the first route that matches', async () => {
    const results = await buildActions(UPSTREAM, [get('/admin'), get('/administrators'), get('/'), get('/report.v1')]);
    expect(results.map(({ route }) => route)).toEqual([
      'GET /admin',
      'GET,POST,DELETE /:any',
      'GET,POST /',
      'GET /report.v1',
    ]);
  });
});
