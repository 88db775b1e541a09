import { Field } from '../../http/validation/fields';
import { member, objectShape, textShape } from '../../http/validation/shapes';

/** That a permit is wanted, and for which system. */
export interface AskedPermit {
  readonly audience: string;
}

const PERMIT = objectShape({
  audience: member(textShape({ max: 200 }), { description: 'One of PERMIT_AUDIENCES.', example: 'bank' }),
});

export function PermitField(): PropertyDecorator {
  const description =
    'Asks for a permit: a token by which the audience sees what was authorised. Needs `PERMIT_AUDIENCES` and `PUBLIC_URL`.';
  return Field('permit', { optional: true, description }, PERMIT.rule, PERMIT.schema);
}
