import{a,b,c,d,e}from"./chunk.CWKTQE4R.js";import"./chunk.4RGTUKCH.js";import"./chunk.F7XV3QSM.js";export{a as approvalOf,c as isUsable,e as passkeysOf,d as registerPasskey,b as signedBy};
