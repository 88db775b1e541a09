import { gzipSync } from 'node:zlib';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import {
  exchange,
  expectRefusal,
  type ExpectedAnswer,
  invalid,
  post,
  summaryOf,
  wire,
} from '../support/application/wire';

const PATH = '/api/v1/entities';
const FINE = '{"type":"a","name":"b"}';
const LIMIT = 2 ** 20;
const NO_JSON = invalid('body');
const NO_TYPE: ExpectedAnswer = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' };
const TOO_LARGE: ExpectedAnswer = { status: 413, code: 'PAYLOAD_TOO_LARGE' };

const withProperties = (properties: string): string => `{"type":"a","name":"b","properties":${properties}}`;
const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
/** Each character represents a byte. */
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const ofLength = (length: number): string =>
  withProperties(`{"a":"${'x'.repeat(length - withProperties('{"a":""}').length)}"}`);
const chunked = (body: string): Buffer =>
  wire(
    `POST ${PATH} HTTP/1.1`,
    ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
    body.replace(/[^]{1,60000}/g, (part) => `${part.length.toString(16)}\r\n${part}\r\n`) + '0\r\n\r\n',
  );

describe('A body', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each<[string, string | Buffer, ExpectedAnswer]>([
    ['a byte that is not UTF-8', bytes('{"type":"a","name":"\xff"}'), NO_JSON],
    ['a sequence cut short', bytes('{"type":"a","name":"\xc3"}'), NO_JSON],
    ['an overlong slash', bytes('{"type":"a","name":"\xc0\xaf"}'), NO_JSON],
    ['an overlong NUL', bytes('{"type":"a","name":"\xc0\x80"}'), NO_JSON],
    ['an overlong quote', bytes('{"type":"a","name":"b\xc0\xa2}'), NO_JSON],
    ['a surrogate in UTF-8', bytes('{"type":"a","name":"\xed\xa0\x80"}'), NO_JSON],
    ['a pair of surrogates in UTF-8', bytes('{"type":"a","name":"\xed\xa0\xbd\xed\xb8\x80"}'), NO_JSON],
    ['a character beyond U+10FFFF', bytes('{"type":"a","name":"\xf4\x90\x80\x80"}'), NO_JSON],
    ['UTF-16', utf16(FINE), NO_JSON],
    ['UTF-16 with its mark', utf16(`\uFEFF${FINE}`), NO_JSON],
    ['UTF-16 of the other end with its mark', utf16(`\uFEFF${FINE}`).swap16(), NO_JSON],
    ['two byte order marks', `\uFEFF\uFEFF${FINE}`, NO_JSON],
    ['a byte order mark alone', '\uFEFF', NO_JSON],
    ['a NUL after it', `${FINE}\0`, NO_JSON],
    ['a NUL in a text', '{"type":"a","name":"\0"}', NO_JSON],
    ['a line end in a text', '{"type":"a","name":"\n"}', NO_JSON],
    ['two values', `${FINE}${FINE}`, NO_JSON],
    ['something after it', `${FINE}x`, NO_JSON],
    ['a comment', `${FINE}// x`, NO_JSON],
    ['a comma at the end', '{"type":"a","name":"b",}', NO_JSON],
    ['single quotes', "{'type':'a','name':'b'}", NO_JSON],
    ['bare keys', '{type:"a",name:"b"}', NO_JSON],
    ['NaN', withProperties('{"a":NaN}'), NO_JSON],
    ['Infinity', withProperties('{"a":-Infinity}'), NO_JSON],
    ['undefined', withProperties('{"a":undefined}'), NO_JSON],
    ['a hexadecimal number', withProperties('{"a":0x10}'), NO_JSON],
    ['a leading zero', withProperties('{"a":010}'), NO_JSON],
    ['a leading plus', withProperties('{"a":+1}'), NO_JSON],
    ['a number without its fraction', withProperties('{"a":1.}'), NO_JSON],
    ['a BigInt', withProperties('{"a":1n}'), NO_JSON],
    ['an escape of no character', '{"type":"a","name":"\\x41"}', NO_JSON],
    ['half an escape', '{"type":"a","name":"\\u12"}', NO_JSON],
    ['white space of other kinds', `${FINE}\u00a0`, NO_JSON],
    ['white space alone', ' \n ', NO_JSON],
    ['a form', 'type=a&name=b', NO_JSON],
    ['XML', '<type>a</type>', NO_JSON],
    ['an array', `[${FINE}]`, NO_JSON],
    ['a text', '"a"', NO_JSON],
    ['a number', '1', NO_JSON],
    ['null', 'null', NO_JSON],
    ['33 levels', withProperties(nested(32)), NO_JSON],
    ['33 levels of arrays', withProperties(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`), NO_JSON],
    ['33 levels in an unknown member', `{"x":${nested(32)}}`, NO_JSON],
    ['half a million levels', '['.repeat(500_000) + ']'.repeat(500_000), NO_JSON],
    ['half a million openings', '{"a":'.repeat(200_000), NO_JSON],
    ['__proto__', '{"type":"a","name":"b","__proto__":{"x":1}}', invalid('__proto__')],
    ['__proto__ inside', withProperties('{"__proto__":{"x":1}}'), invalid('properties.__proto__')],
    ['__proto__ deep inside', withProperties('{"a":[{"b":{"__proto__":1}}]}'), invalid('properties.a[0].b.__proto__')],
    ['__proto__ in escapes', withProperties('{"\\u005f\\u005fproto__":1}'), invalid('properties.__proto__')],
    ['a NUL in escapes', withProperties('{"a":"\\u0000"}'), invalid('properties.a')],
    ['a NUL in a key', withProperties('{"a\\u0000b":1}'), invalid('properties["a\\u0000b"]')],
    ['half a pair', '{"type":"a","name":"\\ud800"}', invalid('name')],
    ['the other half of a pair', '{"type":"\\udc00","name":"b"}', invalid('type')],
    ['a pair the wrong way round', withProperties('{"a":"\\ude00\\ud83d"}'), invalid('properties.a')],
    ['half a pair in a key', withProperties('{"\\ud800":1}'), invalid('properties["\\ud800"]')],
    ['2^53 + 1', withProperties('{"a":9007199254740993}'), invalid('properties.a')],
    ['10^21 in digits', withProperties('{"a":1000000000000000000000}'), invalid('properties.a')],
    ['-2^53 - 1', withProperties('{"a":[0,-9007199254740993]}'), invalid('properties.a[1]')],
    ['2^64', withProperties('{"a":18446744073709551616}'), invalid('properties.a')],
    ['1e309', withProperties('{"a":1e309}'), invalid('properties.a')],
    ['-1E+0400', withProperties('{"a":-1E+0400}'), invalid('properties.a')],
    ['a thousand digits', withProperties(`{"a":${'1'.repeat(1000)}}`), invalid('properties.a')],
    ['a number of a megabyte', withProperties(`{"a":1${'0'.repeat(900_000)}}`), invalid('properties.a')],
    ['a name that is a number', '{"type":"a","name":1}', invalid('name')],
    ['a name that is a list', '{"type":"a","name":["b"]}', invalid('name')],
    ['a name that has a toString', '{"type":"a","name":{"toString":"b"}}', invalid('name')],
    ['a name that is null', '{"type":"a","name":null}', invalid('name')],
    ['properties that are a list', withProperties('[]'), invalid('properties')],
    ['properties that are a text', withProperties('"{}"'), invalid('properties')],
    ['one member in another case', '{"Type":"a","name":"b"}', invalid('Type', 'type')],
    ['a member with a space', '{"type":"a","name":"b","name ":"c"}', invalid('name ')],
    ['more than 1 MiB', ofLength(LIMIT + 1), TOO_LARGE],
  ])('is refused: %s', async (_what, body, expected) => {
    await expectRefusal(app, post(PATH, body), expected);
  });

  it.each<[string, string, ...string[]]>([
    ['a form', 'type=a&name=b', 'Content-Type: application/x-www-form-urlencoded'],
    ['a form in parts', '--x\r\n\r\na\r\n--x--', 'Content-Type: multipart/form-data; boundary=x'],
    ['no type', FINE, 'Content-Type:'],
    ['text/json', FINE, 'Content-Type: text/json'],
    ['JSON of another kind', FINE, 'Content-Type: application/vnd.api+json'],
    ['a list of types', FINE, 'Content-Type: application/json, text/plain'],
    ['Latin-1', FINE, 'Content-Type: application/json; charset=iso-8859-1'],
    ['UTF-7', FINE, 'Content-Type: application/json; charset=utf-7'],
    ['UTF-16', FINE, 'Content-Type: application/json; charset="utf-16"'],
    ['two charsets', FINE, 'Content-Type: application/json; charset=utf-8; charset=utf-16'],
    ['gzip', FINE, 'Content-Encoding: gzip'],
    ['deflate', FINE, 'Content-Encoding: deflate'],
    ['br', FINE, 'Content-Encoding: br'],
    ['zstd', FINE, 'Content-Encoding: zstd'],
    ['compress', FINE, 'Content-Encoding: compress'],
    ['gzip beneath identity', FINE, 'Content-Encoding: identity, gzip'],
    ['two encodings', FINE, 'Content-Encoding: identity', 'Content-Encoding: gzip'],
    ['an empty encoding', FINE, 'Content-Encoding:'],
  ])('is refused for what it says it is: %s', async (_what, body, ...headers) => {
    await expectRefusal(app, post(PATH, body, headers), NO_TYPE);
  });

  it('is refused if it is compressed, before any of it is decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * LIMIT, ' '));
    await expectRefusal(app, post(PATH, bomb, ['Content-Encoding: gzip']), NO_TYPE);
    await expectRefusal(app, post(PATH, bomb), NO_JSON);
  });

  it.each<[string, ...string[]]>([
    ['', 'Content-Type: APPLICATION/JSON'],
    ['', 'Content-Type: application/json;charset=UTF8'],
    ['', 'Content-Type: application/json; charset="utf-8"; x=y'],
    ['', 'Content-Encoding: Identity'],
    ['\uFEFF'],
    [' \t\r\n'],
  ])('is read with %j before it and %j', async (before, ...headers) => {
    expect((await exchange(app, post(PATH, `${before}${FINE}`, headers))).map(summaryOf)).toEqual([{ status: 201 }]);
  });

  it('may have 1 MiB and not a byte more, also in chunks', async () => {
    expect((await exchange(app, post(PATH, ofLength(LIMIT)))).map(summaryOf)).toEqual([{ status: 201 }]);
    expect((await exchange(app, chunked(ofLength(LIMIT)))).map(summaryOf)).toEqual([{ status: 201 }]);
    await expectRefusal(app, chunked(ofLength(LIMIT + 1)), TOO_LARGE);
  });

  it('is refused by its announced length, without waiting for it', async () => {
    const head = ['Content-Type: application/json', `Content-Length: ${LIMIT + 1}`];
    await expectRefusal(app, wire(`POST ${PATH} HTTP/1.1`, head, '{'), TOO_LARGE);
    await expectRefusal(app, wire(`POST ${PATH} HTTP/1.1`, ['Content-Length: 9007199254740993']), TOO_LARGE);
  });

  it.each<[string, Parsed]>([
    ['{"a":1,"a":2,"\\u0061":3}', { a: 3 }],
    ['{"constructor":1,"prototype":{"x":[]},"toString":"y","hasOwnProperty":null,"valueOf":{},"then":1}', null],
    ['{"toJSON":"x","length":-1,"0":"zero","":"empty"," ":"blank","a.b":1,"a[0]":2,"$ref":"#/x"}', null],
    ['{"__proto":1,"_proto__":2,"__proto___":3,"a":"__proto__"}', null],
    ['{"a":9007199254740991,"b":-9007199254740991,"c":9007199254740993.0,"d":9007199254740993e0}', null],
    ['{"a":1.7976931348623157e308,"b":5e-324,"c":1e-400,"d":0.1,"e":1E2,"f":100000000000000000000e-5}', null],
    ['{"a":-0}', { a: 0 }],
    ['{"e\u0301":1,"\u00e9":2,"\u212b":3,"\u00c5":4,"A\u030a":5}', null],
    ['{"a":"\\ud83d\\ude00\u{10ffff}\uffff\ufeff\u2028\u2029\u202e\\u001f\u007f"}', null],
    ['{"a":"false","b":"1","c":"null","d":"2026-01-01T00:00:00Z","e":"\\u003cscript\\u003e"}', null],
    [nested(31), null],
    [`{"a":${'['.repeat(30)}${']'.repeat(30)}}`, null],
  ])('comes back as it was sent: %s', async (properties, expected) => {
    const [created] = await exchange(app, post(PATH, withProperties(properties)));
    expect(created?.status).toBe(201);
    const read = await send(app, 'GET', `${PATH}/${created?.body.id}`);
    for (const { body } of [created as { body: Parsed }, read]) {
      expect(Object.fromEntries(Object.entries(body.properties))).toEqual(expected ?? JSON.parse(properties));
      expect(Object.keys(body.properties).sort()).toEqual(Object.keys(JSON.parse(properties)).sort());
    }
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  it('without a key is not read', async () => {
    const request = Buffer.from(post(PATH, '{').toString().replace(API_KEY, 'another key'));
    await expectRefusal(app, request, { status: 401, code: 'UNAUTHORIZED' });
  });
});
