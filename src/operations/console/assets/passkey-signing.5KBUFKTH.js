import{a,b,c,d}from"./chunk.MFG4VYP6.js";import"./chunk.D4VF5NEV.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
