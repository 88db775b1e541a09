import{l as e}from"./chunk.FC7F37JS.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
