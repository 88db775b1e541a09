import { loadGatewayModule } from './gateway-modules';

const JSON_TYPE = 'application/json';
/** A header may have 64 KiB. What takes more than a step for each character would not end with as many blanks. */
const BLANKS = ' '.repeat(1_000_000);
const LONG = 'a'.repeat(1_000_000);
/** Parameters in a header of the greatest length. */
const PARAMETERS = 12_000;

const READ: readonly (readonly [string, object])[] = [
  ['text/plain', { type: 'text/plain' }],
  ['Application/JSON ; Charset="UTF-8"', { type: JSON_TYPE, charset: 'utf-8' }],
  [`${JSON_TYPE}${BLANKS}`, { type: JSON_TYPE }],
  [`${JSON_TYPE};${BLANKS}`, { type: JSON_TYPE }],
  [`${JSON_TYPE}${BLANKS};\t${BLANKS}charset=utf-8${BLANKS};${BLANKS}`, { type: JSON_TYPE, charset: 'utf-8' }],
  [`a/${LONG}`, { type: `a/${LONG}` }],
  ['multipart/form-data; boundary="a:b"', { type: 'multipart/form-data', boundary: 'a:b' }],
];

const REFUSED: readonly string[] = [
  ...['', BLANKS, `${BLANKS}x`, '/', 'a/', '/b', 'a', `a/b${BLANKS}c`, `a/b;${BLANKS}c`, `a/b;${BLANKS};`],
  ...[LONG, `${LONG}/`, `a/b;${LONG}`, `a/b;${LONG}=`, `a/b; ${LONG}="${LONG}`, `a/b;charset=${LONG}`],
  ...[`a/b${';'.repeat(60_000)}`, `a/b${'; '.repeat(30_000)}x`, `a/b${';a="'.repeat(PARAMETERS)}`],
  ...[`a/b${';a=b'.repeat(PARAMETERS)}`, `a/b${';a=b'.repeat(PARAMETERS)},`, `a/b${' ;a=""'.repeat(PARAMETERS)}"`],
  ...['a/b; charset="a\\"b"', 'a/b, c/d', 'a/b; charset=', 'a/b; charset="', 'multipart/form-data; boundary=""'],
];

describe('A Content-Type, whatever it is', () => {
  it('is read in one way', async () => {
    const { parseContentType } = await loadGatewayModule('request/content-type');
    for (const [text, contentType] of READ) expect(parseContentType(text)).toEqual(contentType);
  });

  it('is refused with what it must be', async () => {
    const { parseContentType } = await loadGatewayModule('request/content-type');
    for (const text of REFUSED) expect(parseContentType(text)).toMatch(/^must .{1,200}$/);
  });
});
