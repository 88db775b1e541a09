import type { Configuration } from '../../config/configuration';
import type { DomainError } from '../../errors/domain-error';
import { CursorCodec } from './list-cursor';
import { Lists } from './lists';

const DEFAULTS = { limit: 50, order: 'asc' } as const;
const KEYS = { apiKey: 'key', apiKeyPrevious: null } as Configuration;
const PAGE = { rows: [{ createdSequence: 7 }], total: 9, more: true };

describe('Lists', () => {
  const lists = new Lists(KEYS);

  function cursorOf(name: string, filters: object = {}): string {
    return lists.open(name, filters, DEFAULTS).answer(PAGE, (row) => row).nextCursor ?? '';
  }

  it("opens a first page with the client's parameters, or the defaults", () => {
    expect(lists.open('things', {}, DEFAULTS).request([])).toEqual({
      conditions: [],
      limit: 50,
      offset: 0,
      order: 'asc',
      position: null,
      total: null,
    });
    const asked = lists.open('things', { limit: 3, offset: 4, order: 'desc' }, DEFAULTS).request([]);
    expect(asked).toMatchObject({ limit: 3, offset: 4, order: 'desc' });
  });

  it('opens the next page where the previous one ended, with its total, order and filters', () => {
    const first = lists.open('things', { order: 'desc', type: 'x' }, DEFAULTS);
    const { nextCursor } = first.answer(PAGE, (row) => row);
    const next = lists.open('things', { cursor: nextCursor ?? '', limit: 3 }, DEFAULTS);
    expect(next.filters).toEqual({ type: 'x' });
    expect(next.request([])).toMatchObject({ limit: 3, offset: 0, order: 'desc', position: 7, total: 9 });
  });

  it('continues from the sequence if the rows are entries themselves', () => {
    const entries = { rows: [{ sequence: 5 }], total: 9, more: true };
    const { nextCursor } = lists.open('audit', {}, DEFAULTS).answer(entries, (row) => row);
    expect(lists.open('audit', { cursor: nextCursor ?? '' }, DEFAULTS).request([]).position).toBe(5);
  });

  it('has no cursor on the last page', () => {
    const last = lists.open('things', {}, DEFAULTS).answer({ ...PAGE, more: false }, (row) => row);
    expect(last).toEqual({ data: [{ createdSequence: 7 }], total: 9 });
  });

  it('refuses the cursor of another list', () => {
    expect(() => lists.open('others', { cursor: cursorOf('things') }, DEFAULTS)).toThrow(
      expect.objectContaining<Partial<DomainError>>({ code: 'VALIDATION_ERROR' }),
    );
  });
});

describe('CursorCodec', () => {
  const cursor = { list: 'things', filters: { type: 'é"' }, order: 'desc', total: 9, position: 7 } as const;

  it('reads its own cursors, and those sealed with its previous secret', () => {
    expect(new CursorCodec('a').decode(new CursorCodec('a').encode(cursor))).toEqual(cursor);
    expect(new CursorCodec('b', ['a']).decode(new CursorCodec('a').encode(cursor))).toEqual(cursor);
    expect(new CursorCodec('b').decode(new CursorCodec('a').encode(cursor))).toBeUndefined();
  });

  it('writes text that needs no encoding in a query', () => {
    expect(new CursorCodec('a').encode(cursor)).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  it('reads nothing that differs from a cursor in any character', () => {
    const codec = new CursorCodec('a');
    const text = codec.encode(cursor);
    for (let index = 0; index < text.length; index += 1) {
      const other = text[index] === 'A' ? 'B' : 'A';
      expect(codec.decode(`${text.slice(0, index)}${other}${text.slice(index + 1)}`)).toBeUndefined();
    }
    expect(codec.decode(`${text}=`)).toBeUndefined();
    expect(codec.decode(` ${text}`)).toBeUndefined();
    expect(codec.decode('')).toBeUndefined();
  });
});
