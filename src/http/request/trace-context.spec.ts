import { traceIdIn } from './arrival';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

describe('traceIdIn', () => {
  it.each([
    ['version 00', `00-${TRACE}-${PARENT}-01`],
    ['flags that are not known', `00-${TRACE}-${PARENT}-ff`],
    ['a later version', `cc-${TRACE}-${PARENT}-01`],
    ['a later version with more fields', `cc-${TRACE}-${PARENT}-01-what-the-future-holds`],
    ['two headers of one trace', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${'b'.repeat(16)}-00`],
  ])('finds the trace of %s', (_what, header) => {
    expect(traceIdIn(header)).toBe(TRACE);
  });

  it.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['two headers of different traces', `00-${TRACE}-${PARENT}-01, 00-${'a'.repeat(32)}-${PARENT}-01`],
    ['two headers of which one is malformed', `00-${TRACE}-${PARENT}-01, none`],
    ['the version that is not valid', `ff-${TRACE}-${PARENT}-01`],
    ['version 00 with more fields', `00-${TRACE}-${PARENT}-01-more`],
    ['a later version without the dash', `cc-${TRACE}-${PARENT}-01more`],
    ['upper case', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${PARENT}-01`],
    ['missing flags', `00-${TRACE}-${PARENT}`],
    ['something else', 'trace me'],
  ])('ignores %s', (_what, header) => {
    expect(traceIdIn(header)).toBeNull();
  });
});
