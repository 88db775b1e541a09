import { scimFault, type ScimType } from '../../core/errors/domain-error';

/** An attribute, by its name in the schema, that must equal a value. */
export interface FilterCondition<Name extends string> {
  readonly name: Name;
  readonly value: string | boolean;
}

const MAX_FILTER_CHARACTERS = 2_000;
const CONDITION =
  /\s*(?:urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):)?([a-z]+)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*(and\s+(?=\S)|$)/iy;

/**
 * Parses a filter into conditions that must all hold: comparisons with `eq`, joined by `and`.
 * @throws VALIDATION_ERROR for any other filter
 */
export function parseFilter<Name extends string>(
  text: string,
  names: readonly Name[],
  fault: ScimType = 'invalidFilter',
): readonly FilterCondition<Name>[] {
  const conditions: FilterCondition<Name>[] = [];
  const expected = `Expected conditions with "eq" on ${names.join(', ')}, joined by "and", such as ${names[0]} eq "…".`;
  if (text.length > MAX_FILTER_CHARACTERS) throw scimFault(fault, expected);
  for (let end = 0; end < text.length || conditions.length === 0;) {
    CONDITION.lastIndex = end;
    const [whole, attribute = '', literal = ''] = CONDITION.exec(text) ?? [];
    const name = names.find((candidate) => candidate.toLowerCase() === attribute.toLowerCase());
    const value = literalValue(literal);
    if (whole === undefined || name === undefined || value === undefined) throw scimFault(fault, expected);
    conditions.push({ name, value });
    end += whole.length;
  }
  return conditions;
}

function literalValue(literal: string): string | boolean | undefined {
  try {
    return JSON.parse(literal.startsWith('"') ? literal : literal.toLowerCase()) as string | boolean;
  } catch {
    return undefined;
  }
}
