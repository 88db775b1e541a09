import type { Configuration } from '../../core/config/configuration';
import type { DomainError } from '../../core/errors/domain-error';
import { Seals } from '../../core/values/seals';
import { cursorOf, Lists, placeIn } from './lists';

const DEFAULTS = { limit: 50, order: 'asc' } as const;
const KEYS = { apiKey: 'key', apiKeyPrevious: null } as Configuration;
const PAGE = { rows: [{ createdSequence: 7 }], total: 9, more: true };

describe('Lists', () => {
  const lists = new Lists(KEYS);

  async function cursorOf(name: string, filters: object = {}): Promise<string> {
    const list = await lists.open(name, filters, DEFAULTS);
    return (await list.answer(PAGE, (row) => row)).nextCursor ?? '';
  }

  it("opens a first page with the client's parameters, or the defaults", async () => {
    expect((await lists.open('things', {}, DEFAULTS)).request([])).toEqual({
      conditions: [],
      limit: 50,
      offset: 0,
      order: 'asc',
      position: null,
      total: null,
      totalOf: null,
    });
    const request = (await lists.open('things', { limit: 3, offset: 4, order: 'desc' }, DEFAULTS)).request([]);
    expect(request).toMatchObject({ limit: 3, offset: 4, order: 'desc' });
  });

  it('opens the next page where the previous one ended, with its total, order and filters', async () => {
    const first = await lists.open('things', { order: 'desc', type: 'x' }, DEFAULTS);
    const { nextCursor } = await first.answer({ ...PAGE, totalOf: 'agt_1' }, (row) => row);
    const next = await lists.open('things', { cursor: nextCursor ?? '', limit: 3 }, DEFAULTS);
    expect(next.filters).toEqual({ type: 'x' });
    const request = { limit: 3, offset: 0, order: 'desc', position: 7, total: 9, totalOf: 'agt_1' };
    expect(next.request([])).toMatchObject(request);
  });

  it('continues from the sequence if the rows are entries themselves', async () => {
    const entries = { rows: [{ sequence: 5 }], total: 9, more: true };
    const { nextCursor } = await (await lists.open('audit', {}, DEFAULTS)).answer(entries, (row) => row);
    expect((await lists.open('audit', { cursor: nextCursor ?? '' }, DEFAULTS)).request([]).position).toBe(5);
  });

  it('has no cursor on the last page', async () => {
    const list = await lists.open('things', {}, DEFAULTS);
    const last = await list.answer({ ...PAGE, more: false }, (row) => row);
    expect(last).toEqual({ data: [{ createdSequence: 7 }], total: 9 });
  });

  it('refuses the cursor of another list', async () => {
    await expect(lists.open('others', { cursor: await cursorOf('things') }, DEFAULTS)).rejects.toThrow(
      expect.objectContaining<Partial<DomainError>>({ code: 'VALIDATION_ERROR' }),
    );
  });
});

describe('A cursor', () => {
  const [seals, later, others] = [
    new Seals('cursor', 'a', []),
    new Seals('cursor', 'b', ['a']),
    new Seals('cursor', 'b', []),
  ];
  const place = {
    list: 'things',
    filters: { type: 'é"' },
    order: 'desc',
    total: 9,
    totalOf: null,
    position: 7,
  } as const;

  it('is read with the secret that sealed it, also when that is the previous one', async () => {
    const text = await cursorOf(place, seals);
    expect(await placeIn(text, seals)).toEqual(place);
    expect(await placeIn(text, later)).toEqual(place);
    expect(await placeIn(text, others)).toBeUndefined();
  });

  it('needs no encoding in a query', async () => {
    expect(await cursorOf(place, seals)).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('is not read if it differs in any character', async () => {
    const text = await cursorOf(place, seals);
    for (let index = 0; index < text.length; index += 1) {
      const other = text[index] === 'A' ? 'B' : 'A';
      expect(await placeIn(`${text.slice(0, index)}${other}${text.slice(index + 1)}`, seals)).toBeUndefined();
    }
    for (const altered of [`${text}=`, ` ${text}`, '']) expect(await placeIn(altered, seals)).toBeUndefined();
  });
});
