import { IsOptional } from 'class-validator';

/** How a member is shown in the API document. */
export interface FieldText<Example = unknown> {
  readonly description?: string;
  readonly example?: Example;
  /** What the service takes when the member is left out. */
  readonly default?: Example;
}

/** What the API document shows of a field, without what only its check needs. */
export function shown<Example>({ description, example, default: taken }: FieldText<Example>): FieldText<Example> {
  return {
    ...(description !== undefined && { description }),
    ...(example !== undefined && { example }),
    ...(taken !== undefined && { default: taken }),
  };
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
