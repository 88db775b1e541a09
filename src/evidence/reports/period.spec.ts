import { bucketStarts, spanRunsOf, type Period, spansOf } from './period';

const NOW = Date.parse('2026-11-20T14:30:10.500Z');

function period(from: string, to: string): Period {
  return { from: Date.parse(from), to: Date.parse(to) };
}

describe('The spans of a period', () => {
  it.each([
    period('2026-10-21T14:30:10.501Z', '2026-11-20T14:30:10.501Z'),
    period('2026-11-20T14:30:10.100Z', '2026-11-20T14:30:10.200Z'),
    period('2026-11-19T23:59:59.999Z', '2026-11-20T00:00:00.001Z'),
    period('2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z'),
    period('1969-12-30T00:30:00Z', '1970-01-02T00:00:30Z'),
  ])('follow each other from its beginning to its end, each in one bucket: %j', (times) => {
    const spans = [...spansOf(times, NOW)];
    expect([spans[0]?.from, spans.at(-1)?.to]).toEqual([times.from, times.to]);
    for (const [index, { from, to, name }] of spans.entries()) {
      expect(spans[index + 1]?.from ?? times.to).toBe(to);
      for (const moment of [from, to - 1]) expect(new Date(moment).toISOString().slice(0, name.length)).toBe(name);
    }
  });

  it('can be cached where they are whole hours that are over', () => {
    const cacheable = [...spansOf(period('2026-11-20T11:58:30Z', '2026-11-20T15:00:00Z'), NOW)].filter(
      ({ isCacheable }) => isCacheable,
    );
    expect(cacheable.map(({ name }) => name)).toEqual(['2026-11-20T12', '2026-11-20T13']);
  });

  it('are counted together where they follow each other', () => {
    const spans = [...spansOf(period('2026-11-20T10:59:00Z', '2026-11-20T13:00:00Z'), NOW)];
    const cached = spans.filter(({ name }) => name !== '2026-11-20T11');
    expect(spanRunsOf(cached).map((run) => run.map(({ name }) => name))).toEqual([
      ['2026-11-20T10'],
      ['2026-11-20T12'],
    ]);
    expect(spanRunsOf(spans).map(({ length }) => length)).toEqual([3]);
  });
});

it('Weeks begin on Monday', () => {
  const starts = bucketStarts(period('2026-11-15T23:00:00Z', '2026-11-16T00:00:00.001Z'), 'week');
  expect(starts.map((start) => new Date(start).toISOString().slice(0, 10))).toEqual(['2026-11-09', '2026-11-16']);
});
