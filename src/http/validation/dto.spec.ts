import { Transform } from 'class-transformer';
import { IsEmail, IsOptional, Length } from 'class-validator';
import type { Configuration } from '../../core/config/configuration';
import { DtoReader } from './dto';
import { OptionalText, RequiredText } from './fields';

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
});
