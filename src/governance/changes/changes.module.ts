import { Module } from '@nestjs/common';
import { PoliciesModule } from '../policies/policies.module';
import { ChangeGates } from './change-gate';
import { FourEyes } from './four-eyes';
import { PastApprovers } from './past-approvers';
import { SecondPersonGuard } from './second-person.guard';

/** Holds back changes that one person alone must not make. */
@Module({
  imports: [PoliciesModule],
  providers: [FourEyes, ChangeGates, SecondPersonGuard, PastApprovers],
  exports: [SecondPersonGuard, PastApprovers],
})
export class ChangesModule {}
