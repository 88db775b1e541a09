import { Transform } from 'class-transformer';
import { IsEmail, IsOptional, Length } from 'class-validator';
import type { Configuration } from '../../core/config/configuration';
import { TimeSlice } from '../../core/concurrency/time-slice';
import { MOST_FAULTS } from '../../core/errors/domain-error';
import { DtoReader } from './dto';
import { LongListField, OptionalText, RequiredText } from './fields';
import { listShape, textShape } from './shapes';

class NamedThing {
  @RequiredText({ max: 5, normalise: (text) => text.normalize('NFC') })
  name!: string;
}

/** A class as a module may have it, with decorators of class-validator and class-transformer next to ours. */
class Invitation extends NamedThing {
  @IsEmail()
  @Transform(({ value }: { value: unknown }) => String(value).toLowerCase())
  address!: string;

  @IsOptional()
  @Length(2, 3)
  language?: string;

  @OptionalText({ max: 5 })
  note?: string;
}

class Collection {
  @LongListField(listShape(textShape({ max: 5 }), 1, 1_001, 'things'), { optional: true })
  things?: readonly string[];
}

describe('DtoReader', () => {
  async function read(
    type: new () => object,
    input: object,
  ): Promise<{ readonly dto: object; readonly faults: readonly object[] }> {
    const reader = new DtoReader({} as Configuration);
    const dto = await reader.read(type, input, '');
    return { dto, faults: reader.faults };
  }

  it('makes an instance of the declared members, and none of what is left out', async () => {
    const { dto, faults } = await read(NamedThing, { name: 'e\u0301' });
    expect([dto, faults]).toEqual([{ name: '\u00e9' }, []]);
    expect(dto).toBeInstanceOf(NamedThing);
  });

  it('keeps the rules of class-validator and class-transformer that a class has', async () => {
    const { dto, faults } = await read(Invitation, { name: 'a', address: 'A@Example.com', note: null });
    expect([dto, faults]).toEqual([{ name: 'a', address: 'a@example.com' }, []]);
    expect(dto).toBeInstanceOf(Invitation);
    const wrong = await read(Invitation, { address: 'none', language: 'english', age: 1 });
    expect(wrong.faults).toEqual([
      { field: 'age', message: expect.stringContaining('known are address, language, note, name') },
      { field: 'address', message: 'must be an email' },
      { field: 'language', message: 'must be shorter than or equal to 3 characters' },
      { field: 'name', message: 'is required' },
    ]);
  });

  it.each<[what: string, things: readonly string[] | string | null, fields: readonly string[], turns: number]>([
    ['each item, with its place', ['a', '', 'bcd', ''], ['things[1]', 'things[3]'], 4],
    ['no item of a list that is too long', Array.from({ length: 1_002 }, () => ''), ['things'], 0],
    ['what is no list', 'a', ['things'], 0],
    ['nothing where it is left out', null, [], 0],
  ])('serves others between the items of a long list, and refuses %s', async (_what, things, fields, turns) => {
    jest.spyOn(TimeSlice.prototype, 'isOver', 'get').mockReturnValue(true);
    const begun = TimeSlice.begun;
    const { faults } = await read(Collection, { things });
    jest.restoreAllMocks();
    expect(faults).toEqual(fields.map((field) => ({ field, message: expect.any(String) })));
    expect(TimeSlice.begun - begun).toBe(turns);
  });

  it('ends at the greatest number of faults', async () => {
    const things = Array.from({ length: 1_001 }, () => '');
    const { faults } = await read(Collection, { things });
    expect(faults).toHaveLength(MOST_FAULTS);
  });
});
