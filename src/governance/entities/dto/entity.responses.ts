import { OmitType } from '@nestjs/swagger';
import { type ShownAs, shownAs } from '../../../http/openapi/answer-members';
import { GovernedEntity } from '../governed-entity.entity';
import { Claim } from '../claim.entity';

export class EntityResponse extends OmitType(GovernedEntity, ['createdSequence'] as const) {
  static readonly from: ShownAs<EntityResponse> = shownAs(EntityResponse);
}

export class ClaimResponse extends OmitType(Claim, ['createdSequence'] as const) {
  static readonly from: ShownAs<ClaimResponse> = shownAs(ClaimResponse);
}
