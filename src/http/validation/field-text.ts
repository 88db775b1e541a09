import { IsOptional } from 'class-validator';

/** How a member is shown in the API document. */
export interface FieldText<Example = unknown> {
  readonly description?: string;
  readonly example?: Example;
  /** What the service assumes if the member is left out. */
  readonly default?: Example;
}

interface ShownField<Example> extends Pick<FieldText<Example>, 'description' | 'example'> {
  readonly nullable?: true;
}

/** What the API document shows of a field, without members only needed for validation. */
export function shown<Example>(field: FieldText<Example> & Presence): ShownField<Example> {
  const { example, optional = false } = field;
  const description = describe(field);
  return {
    ...(description !== '' && { description }),
    ...(example !== undefined && { example }),
    ...(optional && { nullable: true as const }),
  };
}

/** The default is put into words: given in the schema, client generators would make the member always present. */
function describe<Example>({ description, default: taken }: FieldText<Example>): string {
  const words = taken === undefined ? [] : [`Without it \`${JSON.stringify(taken)}\`.`];
  return [...(description === undefined ? [] : [description]), ...words].join(' ');
}

/** A choice among texts. */
export interface ChoiceText extends FieldText<string> {
  /** What the API document calls the choice, such as `RiskLevel`. */
  readonly enumName?: string;
}

interface ShownChoice {
  readonly type?: 'string';
  readonly enum: (string | null)[];
  readonly enumName?: string;
}

/**
 * How the API document shows a choice: under its name, so that clients have one type for it. An optional choice also
 * takes null, which in OpenAPI 3.0 is one of its values.
 */
export function shownChoice(values: readonly string[], field: ChoiceText & Presence): ShownChoice {
  const { enumName, optional = false } = field;
  if (optional) return { type: 'string', enum: [...values, null] };
  return { enum: [...values], ...(enumName !== undefined && { enumName }) };
}

export interface Presence {
  /** The member may be left out; `null` counts as left out. */
  readonly optional?: boolean;
}

/** class-validator's mark for a member that may be left out. */
export function optionalMark({ optional = false }: Presence): PropertyDecorator[] {
  return optional ? [IsOptional()] : [];
}

export function isRequired({ optional = false }: Presence): boolean {
  return !optional;
}
